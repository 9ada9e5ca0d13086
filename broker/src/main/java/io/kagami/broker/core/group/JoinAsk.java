package io.kagami.broker.core.group;

import io.kagami.broker.core.group.Member.Protocol;
import java.util.List;

/** What a JoinGroup asks for, once it is checked. */
record JoinAsk(long token, int sessionTimeoutMs, int rebalanceTimeoutMs, List<Protocol> protocols) {}

/** What the directories of another broker hold, and which of it may be taken over: metadata records, the plan, its journal. */
package io.kagami.broker.core.adopt;

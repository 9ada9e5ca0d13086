package io.kagami.mirror.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.mirror.core.FetchSession.Plan;
import io.kagami.mirror.core.FetchSession.Slot;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class FetchSessionTest {
    private static Slot at(long offset) {
        return new Slot(offset, 1, 2, 100);
    }

    @Test
    void onlyWhatChangedIsToldInASession() {
        FetchSession<String> session = new FetchSession<>();
        session.put("a", at(1));
        session.put("b", at(2));
        Plan<String> first = session.next();
        assertThat(first.full()).isTrue();
        assertThat(first.sessionEpoch()).isZero();
        assertThat(first.toSend()).containsOnlyKeys("a", "b");
        session.onAnswer(77);
        session.put("a", at(5));
        Plan<String> second = session.next();
        assertThat(second.sessionId()).isEqualTo(77);
        assertThat(second.sessionEpoch()).isEqualTo(1);
        assertThat(second.toSend()).containsOnlyKeys("a");
        session.onAnswer(77);
        session.remove("b");
        Plan<String> third = session.next();
        assertThat(third.toSend()).isEmpty();
        assertThat(third.toForget()).containsExactly("b");
        session.onAnswer(77);
        assertThat(session.next().toForget()).isEmpty();
    }

    @Test
    void whatIsRemovedAndPutAgainIsSentAndNotForgotten() {
        FetchSession<String> session = new FetchSession<>();
        session.put("a", at(1));
        session.next();
        session.onAnswer(77);
        session.remove("a");
        session.put("a", at(0));
        Plan<String> plan = session.next();
        assertThat(plan.toSend()).containsOnlyKeys("a");
        assertThat(plan.toForget()).isEmpty();
    }

    @Test
    void anAnswerDoesNotApplyToWhatWasChangedAfterItsRequest() {
        FetchSession<String> session = new FetchSession<>();
        session.put("a", at(1));
        Plan<String> plan = session.next();
        assertThat(session.asked("a", plan.number())).isEqualTo(at(1));
        session.remove("a");
        assertThat(session.asked("a", plan.number())).isNull();
        session.put("a", at(9));
        assertThat(session.asked("a", plan.number())).isNull();
        assertThat(session.asked("a", session.next().number())).isEqualTo(at(9));
    }

    @Test
    void withoutASessionEveryRequestIsWholeAndTheLeastRecentComesFirst() {
        FetchSession<String> session = new FetchSession<>();
        session.put("a", at(1));
        session.put("b", at(1));
        session.next();
        session.onAnswer(0);
        session.put("a", at(2));
        Plan<String> plan = session.next();
        assertThat(plan.full()).isTrue();
        assertThat(plan.toSend().keySet()).containsExactly("b", "a");
    }

    /** A model of the server's side sees exactly the client's partitions, whatever happens in between. */
    @Property(tries = 300)
    void theServersSessionIsAlwaysTheClients(@ForAll long seed) {
        Random random = new Random(seed);
        FetchSession<Integer> session = new FetchSession<>();
        Map<Integer, Slot> model = new HashMap<>();
        Map<Integer, Slot> server = new HashMap<>();
        for (int step = 0; step < 200; step++) {
            int key = random.nextInt(8);
            switch (random.nextInt(5)) {
                case 0, 1 -> {
                    session.put(key, at(step));
                    model.put(key, at(step));
                }
                case 2 -> {
                    session.remove(key);
                    model.remove(key);
                }
                case 3 -> {
                    Plan<Integer> plan = session.next();
                    if (plan.full()) {
                        server.clear();
                    }
                    server.putAll(plan.toSend());
                    plan.toForget().forEach(k -> assertThat(server.remove(k)).isNotNull());
                    assertThat(server).isEqualTo(model);
                    session.onAnswer(random.nextInt(10) == 0 ? 0 : 5);
                }
                default -> {
                    if (random.nextInt(10) == 0) {
                        session.reset();
                    }
                }
            }
        }
    }
}

package io.kagami.broker.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Request;
import io.kagami.protocol.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RequestDispatcherTest {
    private static final short METADATA = 3;

    private final List<Integer> begun = new ArrayList<>();
    private final List<CompletableFuture<ApiMessage>> answers = new ArrayList<>();
    private final List<ByteBuf> frames = new ArrayList<>();
    private final EmbeddedChannel channel = new EmbeddedChannel(new RequestDispatcher(
            (request, session) -> {
                begun.add(request.header().correlationId());
                CompletableFuture<ApiMessage> answer = new CompletableFuture<>();
                answers.add(answer);
                return answer;
            },
            "TEST",
            RequestObserver.NONE));

    private void send(int correlationId, int bytes) {
        ByteBuf frame = Unpooled.buffer(bytes, bytes);
        frames.add(frame);
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(METADATA)
                .setRequestApiVersion((short) 0)
                .setCorrelationId(correlationId);
        channel.writeInbound(new Request(ApiTable.find(METADATA), header, new MetadataResponseData(), frame, 0));
    }

    private List<Integer> sent() {
        List<Integer> ids = new ArrayList<>();
        for (Object each = channel.readOutbound(); each != null; each = channel.readOutbound()) {
            ids.add(((Response) each).request().header().correlationId());
        }
        return ids;
    }

    private void answer(int index) {
        answers.get(index).complete(new MetadataResponseData());
        channel.runPendingTasks();
    }

    @AfterEach
    void everyFrameIsReleasedInTheEnd() {
        answers.forEach(each -> each.complete(null));
        channel.runPendingTasks();
        channel.finishAndReleaseAll();
        assertThat(frames).allSatisfy(frame -> assertThat(frame.refCnt()).isZero());
    }

    @Test
    void answersLeaveInTheOrderOfTheRequests() {
        send(1, 10);
        send(2, 10);
        send(3, 10);
        assertThat(begun).containsExactly(1, 2, 3);
        answer(2);
        answer(1);
        assertThat(sent()).isEmpty();
        answer(0);
        assertThat(sent()).containsExactly(1, 2, 3);
    }

    @Test
    void aRequestWithoutAnswerGivesItsPlaceUp() {
        send(1, 10);
        send(2, 10);
        answer(1);
        answers.get(0).complete(null);
        channel.runPendingTasks();
        Response first = channel.readOutbound();
        assertThat(first.body()).isNull();
        assertThat(sent()).containsExactly(2);
    }

    @Test
    void noMoreThanTheBoundIsWithHandlers() {
        for (int i = 0; i < RequestDispatcher.OUTSTANDING_MAX + 10; i++) {
            send(i, 10);
        }
        assertThat(begun).hasSize(RequestDispatcher.OUTSTANDING_MAX);
        assertThat(channel.config().isAutoRead()).isFalse();
        answer(0);
        assertThat(begun).hasSize(RequestDispatcher.OUTSTANDING_MAX + 1);
        assertThat(channel.config().isAutoRead()).isFalse();
        for (int i = 1; i < answers.size(); i++) {
            answer(i);
        }
        assertThat(sent()).hasSize(RequestDispatcher.OUTSTANDING_MAX + 10).isSorted();
        assertThat(channel.config().isAutoRead()).isTrue();
    }

    @Test
    void largeFramesStopTheReadingEarlier() {
        send(1, RequestDispatcher.OUTSTANDING_BYTES_MAX);
        send(2, 10);
        assertThat(begun).containsExactly(1);
        answer(0);
        assertThat(begun).containsExactly(1, 2);
    }

    @Test
    void aFailedHandlerClosesTheConnectionOnce() {
        send(1, 10);
        send(2, 10);
        answers.get(0).completeExceptionally(new IllegalArgumentException("expected by the test"));
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
        answer(1);
        assertThat(sent()).isEmpty();
    }

    @Test
    void framesStayUntilTheirHandlerHasEndedThoughTheConnectionIsGone() {
        send(1, 10);
        channel.close();
        channel.runPendingTasks();
        assertThat(frames.get(0).refCnt()).isEqualTo(1);
        answers.get(0).complete(new MetadataResponseData());
        channel.runPendingTasks();
        assertThat(frames.get(0).refCnt()).isZero();
    }

    @Test
    void namesOfClientsAreShownWithoutControlCharacters() {
        assertThat(RequestDispatcher.printable("a\u001b[31m\nb")).isEqualTo("a?[31m?b");
        assertThat(RequestDispatcher.printable(null)).isEqualTo("(none)");
        assertThat(RequestDispatcher.printable("x".repeat(500))).hasSize(103);
    }
}

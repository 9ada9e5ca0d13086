package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;

/**
 * Has the socket write the rest of a large frame to where the frame is being put together, instead of into a buffer that is then
 * copied. Everything else is received as usual.
 */
final class FrameReceive implements RecvByteBufAllocator {
    private final RecvByteBufAllocator usual = new AdaptiveRecvByteBufAllocator();
    private final FrameDecoder decoder;

    FrameReceive(FrameDecoder decoder) {
        this.decoder = decoder;
    }

    @Override
    public ExtendedHandle newHandle() {
        return new InPlace((ExtendedHandle) usual.newHandle(), decoder);
    }

    private static final class InPlace extends DelegatingHandle implements ExtendedHandle {
        private final ExtendedHandle usual;
        private final FrameDecoder decoder;

        InPlace(ExtendedHandle usual, FrameDecoder decoder) {
            super(usual);
            this.usual = usual;
            this.decoder = decoder;
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator alloc) {
            ByteBuf rest = decoder.restOfFrame();
            return rest != null ? rest : super.allocate(alloc);
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier maybeMoreData) {
            return usual.continueReading(maybeMoreData);
        }
    }
}

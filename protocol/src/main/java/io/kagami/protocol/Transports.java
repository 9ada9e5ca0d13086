package io.kagami.protocol;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;

/** Native epoll where its library loads, else NIO; {@code -Dkagami.transport=nio} forces NIO. */
public final class Transports {
    private static final boolean EPOLL = !"nio".equals(System.getProperty("kagami.transport")) && Epoll.isAvailable();

    private Transports() {}

    /** Daemon threads called {@code name-N}; the caller shuts the group down. */
    public static EventLoopGroup newGroup(int threads, String name) {
        return new MultiThreadIoEventLoopGroup(
                threads,
                new DefaultThreadFactory(name, true),
                EPOLL ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    }

    public static Class<? extends ServerChannel> serverChannel() {
        return EPOLL ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    }

    public static Class<? extends Channel> clientChannel() {
        return EPOLL ? EpollSocketChannel.class : NioSocketChannel.class;
    }

    /**
     * Holds back packets that are not full until they are let go, so that small parts between files do not leave alone and wake the reader
     * for a few bytes; the kernel lets go by itself after 200 ms. Nothing where the transport cannot. Event loop only.
     */
    public static void cork(Channel channel, boolean held) {
        if (channel instanceof EpollSocketChannel socket && socket.isActive()) {
            socket.config().setTcpCork(held);
        }
    }

    /** {@code epoll} or {@code nio}. */
    public static String name() {
        return EPOLL ? "epoll" : "nio";
    }
}

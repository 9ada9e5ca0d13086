/** Bytes to requests and responses to bytes, on Netty channels: frames, headers, bodies, and file ranges that stay files. */
package io.kagami.protocol.codec;

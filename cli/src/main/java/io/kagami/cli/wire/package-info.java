/** What the shell asks a cluster, as blocking calls over the protocol client; every failure is a sentence. */
package io.kagami.cli.wire;

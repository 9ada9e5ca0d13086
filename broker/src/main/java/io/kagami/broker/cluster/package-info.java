/** Shell of the metadata: the Raft group, the image, who listens to it. */
package io.kagami.broker.cluster;

/** Pure core of the cluster metadata: records, image, rules. */
package io.kagami.broker.core.cluster;

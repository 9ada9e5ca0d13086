/** One partition on its loop: mode, log, epoch, waiters. */
package io.kagami.broker.partition;

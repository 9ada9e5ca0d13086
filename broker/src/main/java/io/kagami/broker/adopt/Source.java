package io.kagami.broker.adopt;

import io.kagami.broker.core.adopt.SourceCatalog;
import io.kagami.broker.core.adopt.SourceLog;
import java.nio.file.Path;
import java.util.List;

/**
 * The stopped broker as its directories tell.
 *
 * @param kind words for messages, such as "Apache Kafka"
 * @param directories absolute paths
 * @param clean whether all of them were stopped well
 */
record Source(String kind, List<Path> directories, boolean clean, SourceCatalog catalog, List<SourceLog> logs) {}

package io.kagami.it;

import io.kagami.cli.demo.ForkedKafka;
import java.nio.file.Path;
import java.util.List;

/** The default source: child JVMs. */
final class ForkedSource implements SourceKafka {
    private final ForkedKafka kafka;

    ForkedSource(String name, Spec spec) {
        kafka = ForkedKafka.start(new ForkedKafka.Options(
                spec.version(), spec.brokers(), TestDirs.fresh("source-" + name), spec.props(), spec.heap()));
    }

    @Override
    public String version() {
        return kafka.version();
    }

    @Override
    public String bootstrap() {
        return kafka.bootstrap();
    }

    @Override
    public int brokers() {
        return kafka.brokers();
    }

    @Override
    public void stop(int node) {
        kafka.stop(node);
    }

    @Override
    public void kill(int node) {
        kafka.kill(node);
    }

    @Override
    public void resume(int node) {
        kafka.resume(node);
    }

    @Override
    public int runTool(String mainClass, List<String> args, Path stdout) {
        return kafka.runTool(mainClass, args, stdout);
    }

    @Override
    public void close() {
        kafka.close();
    }
}

# Produces numbered values with librdkafka's Python binding; prints how many were acknowledged.
# write.py BOOTSTRAP TOPIC CODEC IDEMPOTENT PREFIX COUNT
import sys

from confluent_kafka import Producer

bootstrap, topic, codec, idempotent, prefix, count = sys.argv[1:7]
producer = Producer({
    "bootstrap.servers": bootstrap,
    "compression.type": codec,
    "enable.idempotence": idempotent == "true",
    "linger.ms": 5,
})
acknowledged = []


def done(error, message):
    if error:
        sys.exit(f"not acknowledged: {error}")
    acknowledged.append(message.offset())


for i in range(int(count)):
    producer.produce(topic, key=f"key {i}", value=f"{prefix} {i}", on_delivery=done)
    producer.poll(0)
if producer.flush(60) > 0:
    sys.exit("not all were acknowledged within 60 s")
print(len(acknowledged), len(set(acknowledged)))

// Produces numbered values with kafkajs.
// write.js BOOTSTRAP TOPIC none|gzip IDEMPOTENT PREFIX COUNT, with NODE_PATH set to where kafkajs is
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')

const [bootstrap, topic, codec, idempotent, prefix, count] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'write-js', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })
const producer = kafka.producer({ idempotent: idempotent === 'true' })
const compression = codec === 'gzip' ? CompressionTypes.GZIP : CompressionTypes.None

const main = async () => {
  await producer.connect()
  for (let from = 0; from < Number(count); from += 20) {
    const messages = []
    for (let i = from; i < Math.min(from + 20, Number(count)); i++) messages.push({ key: `key ${i}`, value: `${prefix} ${i}` })
    await producer.send({ topic, compression, acks: -1, messages })
  }
  await producer.disconnect()
}
main().catch((error) => { console.error(error); process.exit(1) })

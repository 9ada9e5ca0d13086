// Reads a topic with kafkajs, as a member of a group, until the given number of records came; one line a record.
// read.js BOOTSTRAP TOPIC RECORDS GROUP, with NODE_PATH set to where kafkajs is
const { Kafka, logLevel } = require('kafkajs')

const [bootstrap, topic, records, groupId] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'read-js', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })
const consumer = kafka.consumer({ groupId })
const lines = []

const text = (bytes) => (bytes === null || bytes === undefined ? 'null' : bytes.toString())
const end = async (code) => {
  await consumer.disconnect()
  lines.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
  for (const line of lines) console.log(line.partition, line.offset, line.timestamp, line.headers, line.key, line.value)
  process.exit(code)
}

const main = async () => {
  const timer = setTimeout(() => { console.error(`only ${lines.length} of ${records} records came`); end(1) }, 60000)
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      const headers = Object.entries(message.headers || {}).map(([key, value]) => `${key}=${text(value)}`).join(',')
      lines.push({ partition, offset: Number(message.offset), timestamp: message.timestamp, headers, key: text(message.key), value: text(message.value) })
      if (lines.length === Number(records)) { clearTimeout(timer); setImmediate(() => end(0)) }
    },
  })
}
main().catch((error) => { console.error(error); process.exit(1) })

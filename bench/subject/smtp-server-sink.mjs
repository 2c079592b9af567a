// The process of smtp-server.ts: `node bench/subject/smtp-server-sink.mjs ADDRESS PORT`. Plain JavaScript, so that its memory
// is that of the library and Node, without what strips types.
import { SMTPServer } from 'smtp-server'

const [address = '', port = ''] = process.argv.slice(2)

new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH'],
  disableReverseLookup: true,
  logger: false,
  onData(stream, _session, callback) {
    stream.resume()
    stream.on('end', () => callback())
  },
}).listen(Number(port), address)

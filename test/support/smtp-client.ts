import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import type { Mail } from './mail-server.ts'

/** Hands a message to an SMTP server as it is, and gives the reply to its data. Rejects when a recipient is refused. */
export function submit(address: string, port: number, { from, to, raw }: Mail): Promise<string> {
  const connection = new SMTPConnection({ host: address, port, ignoreTLS: true, name: 'client.test' })
  return new Promise<string>((resolve, reject) => {
    connection.on('error', reject)
    connection.connect(() => {
      connection.send({ from, to: [...to] }, raw, (error, info) => {
        if (error) reject(error)
        else if (info?.rejectedErrors?.[0]) reject(info.rejectedErrors[0])
        else resolve(info?.response ?? '')
      })
    })
  }).finally(() => connection.close())
}

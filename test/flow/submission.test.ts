import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { getPeer, without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { swaks } from '../support/swaks.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const settings = {
  toml: '[submission]\nlisten = ["127.0.0.1:0"]\nlisten_tls = ["127.0.0.1:0"]\n',
}

/** Python's smtplib, over one of the two doors. */
const program = `
import smtplib, ssl, sys
from email.message import EmailMessage
host, door, port, user, password = sys.argv[1:]
context = ssl._create_unverified_context()
if door == 'tls':
    server = smtplib.SMTP_SSL(host, int(port), context=context)
else:
    server = smtplib.SMTP(host, int(port))
    server.starttls(context=context)
server.login(user, password)
message = EmailMessage()
message['From'] = user
message['To'] = 'bob@ours.example'
message['Subject'] = 'By smtplib over ' + door
message['Bcc'] = 'cara@ours.example'
message.set_content('Grüße\\n.\\nfrom Python\\n')
print(server.send_message(message))
server.quit()
`

t.test(
  'swaks, msmtp, nodemailer and smtplib send by both ports, and what they sent is there as it was written',
  { skip: without('swaks', 'msmtp', 'python3') },
  async t => {
    const daemon = await startDaemon(t, settings)
    const [starttls, tls] = daemon.submissionPorts as [number, number]
    const ann = await createInbox(daemon, 'ann')
    const bob = await createInbox(daemon, 'bob')
    const cara = await createInbox(daemon, 'cara')
    const { token } = await daemon.createKey({ inbox: ann.id })

    const line = (subject: string) => [
      ...['--from', ann.address, '--to', bob.address, '--h-From', ann.address],
      ...['--header', `Subject: ${subject}`, '--body', `Hello by ${subject}`],
    ]
    const asAnn = ['--auth-user', ann.address, '--auth-password', token]
    for (const [mechanism, subject, door] of [
      ['PLAIN', 'swaks PLAIN', ['--tls', '--server', `127.0.0.1:${starttls}`]],
      ['LOGIN', 'swaks LOGIN', ['--tls-on-connect', '--server', `127.0.0.1:${tls}`]],
    ] as const) {
      const said = await swaks([...door, '--auth', mechanism, ...asAnn, ...line(subject)])
      t.equal(said.code, 0, said.transcript)
      t.match(said.transcript, /<~ +250 2\.6\.0 Queued as [0-9a-f-]{36}/)
    }
    const clear = await swaks(['--server', `127.0.0.1:${starttls}`, '--auth', ...asAnn, ...line('never')])
    t.equal(clear.code, 28, 'no AUTH without TLS')
    const wrong = ['--auth-user', bob.address, '--auth-password', token]
    const guess = await swaks([
      '--tls',
      '--server',
      `127.0.0.1:${starttls}`,
      '--auth',
      ...wrong,
      ...line('never'),
    ])
    t.match(guess.transcript, /<~\* 535 5\.7\.8 /)

    const dir = temporaryDir(t)
    const configuration = join(dir, 'msmtprc')
    writeFileSync(
      configuration,
      `account default\nhost 127.0.0.1\nport ${starttls}\ntls on\ntls_starttls on\ntls_certcheck off\nauth on\nuser ${ann.address}\npassword ${token}\nfrom ${ann.address}\n`,
    )
    chmodSync(configuration, 0o600)
    const letter = `From: Ann <${ann.address}>\nTo: ${bob.address}\nSubject: By msmtp\n\nHello by msmtp\n`
    const msmtp = await runProgram(getPeer('msmtp'), [`--file=${configuration}`, '-t'], letter)
    t.equal(msmtp.code, 0, msmtp.stderr)

    for (const [secure, port] of [
      [false, starttls],
      [true, tls],
    ] as const) {
      const transport = createTransport({
        host: '127.0.0.1',
        port,
        secure,
        requireTLS: true,
        tls: { rejectUnauthorized: false },
        auth: { user: ann.address, pass: token },
      })
      const info = await transport.sendMail({
        from: { name: 'Ann', address: ann.address },
        to: bob.address,
        subject: `By nodemailer ${secure ? 'TLS' : 'STARTTLS'}`,
        text: 'Grüße',
        html: '<p>Grüße</p>',
        attachments: [{ filename: 'notes.txt', content: 'a note' }],
      })
      t.match(info.response, /^250 2\.6\.0 Queued as /)
      transport.close()
    }
    for (const [door, port] of [
      ['starttls', starttls],
      ['tls', tls],
    ] as const) {
      const sent = await runProgram(getPeer('python3'), [
        '-c',
        program,
        '127.0.0.1',
        door,
        `${port}`,
        ann.address,
        token,
      ])
      t.match(sent, { code: 0, stdout: '{}\n' })
    }

    const received = await bob.received(7)
    t.strictSame(received.map(({ subject }) => subject).sort(), [
      'By msmtp',
      'By nodemailer STARTTLS',
      'By nodemailer TLS',
      'By smtplib over starttls',
      'By smtplib over tls',
      'swaks LOGIN',
      'swaks PLAIN',
    ])
    for (const message of received) t.equal(message.fromAddr, ann.address)
    t.equal((await cara.received(2)).length, 2, 'blind copies arrive')
    const list = await ann.api.get(`/v1/inboxes/${ann.id}/messages?direction=outbound&limit=100`)
    t.equal(list.body.total, 7)
    for (const { id, subject } of list.body.data) {
      const settled = await ann.settled(id)
      t.equal(settled.status, 'sent', subject)
      const raw = (await ann.api.get(`/v1/messages/${id}/raw`)).bytes.toString()
      t.match(raw, /^DKIM-Signature: /)
      t.notMatch(raw, /^Bcc:/im)
    }
    const noted = list.body.data.find(({ subject }: { subject: string }) => subject === 'By nodemailer TLS')
    t.match(noted, { attachments: [{ filename: 'notes.txt' }] })

    // An answer to what was sent by SMTP comes back into its thread, and is answered there by SMTP.
    const asked = received.find(({ subject }) => subject === 'By msmtp')!
    const answered = await bob.api.post(
      `/v1/messages/${asked.id}/reply`,
      { body: 'And to you' },
      { 'idempotency-key': 'one' },
    )
    t.equal(answered.status, 200)
    const [answer] = await ann.received()
    const again = await swaks([
      ...['--tls', '--server', `127.0.0.1:${starttls}`, '--auth', 'PLAIN', ...asAnn, ...line('Re: By msmtp')],
      ...['--header', `In-Reply-To: ${answered.body.providerMessageId}`],
    ])
    t.equal(again.code, 0, again.transcript)
    const all = await ann.api.get(`/v1/inboxes/${ann.id}/messages?limit=100`)
    const inThread = all.body.data.filter(
      ({ threadId }: { threadId: string }) => threadId === answer!.threadId,
    )
    t.equal(inThread.length, 3, 'question, answer, and the answer to that')
    t.strictSame(daemon.troubles(), [])
    t.equal(await daemon.end('SIGTERM'), 0)
  },
)

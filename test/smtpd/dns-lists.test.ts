import t from 'tap'
import { startDns } from '../support/dns.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'

const listed = { A: ['127.0.0.2'] }
const zone = {
  '2.0.0.127.bl.example': listed,
  '7.0.0.127.bl.example': listed,
  '8.0.0.127.bl.example': listed,
}

t.test('who is listed is refused, but for postmaster and abuse', async t => {
  const dns = await startDns(zone)
  t.teardown(() => dns.close())
  const { port, inbox, messages } = await openDoor(t, {
    dns: dns.server,
    smtp: 'trusted_networks = ["127.0.0.8/32"]',
    toml: '[dns_lists]\nzones = ["bl.example"]',
  })
  await inbox('ann')
  const bad = await greetedDialog(port, '127.0.0.7')
  await bad.say('MAIL FROM:<bob@example.net>')
  t.equal(
    (await bad.say('RCPT TO:<ann@ours.example>')).text,
    '550 5.7.1 Your address 127.0.0.7 is listed by bl.example',
  )
  t.equal((await bad.say('DATA')).code, 503)
  await bad.say('RSET')
  await bad.envelope('bob@example.net', 'postmaster', 'abuse@ours.example', 'Postmaster+x@ours.example')
  t.equal((await bad.data('From: bob@example.net\r\nSubject: why?\r\n\r\nx')).code, 250)
  for (const address of ['127.0.0.1', '127.0.0.8']) {
    const good = await greetedDialog(port, address)
    await good.envelope('bob@example.net', 'ann@ours.example')
    t.equal((await good.data('From: bob@example.net\r\nSubject: x\r\n\r\nx')).code, 250)
  }
  t.strictSame(
    (await messages()).map(message => [message.subject, message.verdict]),
    [
      ['why?', 'spam'],
      ['x', 'clean'],
      ['x', 'clean'],
    ],
  )
})

t.test('or its mail is marked', async t => {
  const dns = await startDns(zone)
  t.teardown(() => dns.close())
  const { port, inbox, messages } = await openDoor(t, {
    dns: dns.server,
    toml: '[dns_lists]\nzones = ["bl.example"]\naction = "mark"',
  })
  await inbox('ann')
  for (const address of ['127.0.0.7', '127.0.0.1']) {
    const dialog = await greetedDialog(port, address)
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.equal((await dialog.data(`From: bob@example.net\r\nSubject: ${address}\r\n\r\nx`)).code, 250)
  }
  t.strictSame(
    (await messages()).map(({ subject, verdict, category }) => [subject, verdict, category]),
    [
      ['127.0.0.7', 'spam', 'spam'],
      ['127.0.0.1', 'clean', 'personal'],
    ],
  )
})

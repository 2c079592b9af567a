import t from 'tap'
import type { Arrival } from '../../../lib/core/inbound/arrival.ts'
import { traceFields } from '../../../lib/core/inbound/trace.ts'

const recipient = { inboxId: 'i', podId: 'p', address: 'ann@ours.example', rcptTo: 'Ann+tag@ours.example' }
const smtp = {
  kind: 'smtp',
  remoteAddress: '192.0.2.1',
  helo: 'mx.theirs.example',
  protocol: 'ESMTPS',
  tls: 'TLSv1.3 TLS_AES_256_GCM_SHA384',
} as const
const arrivalOf = (changes: Partial<Arrival>): Arrival => ({
  sessionId: 's',
  mailFrom: 'bob@theirs.example',
  recipients: [recipient],
  content: { kind: 'memory', bytes: Buffer.alloc(0) },
  peer: smtp,
  ...changes,
})
const trace = (changes: Partial<Arrival>, results: string | null = null) =>
  traceFields({
    arrival: arrivalOf(changes),
    recipient,
    id: '01a1fd00-0000-7000-8000-000000000000',
    hostname: 'mail.ours.example',
    date: new Date('2026-02-03T04:05:06.789Z'),
    results,
  })

t.test('Return-Path and Received of mail from the network (RFC 5321 §4.4)', async t => {
  t.equal(
    trace({}),
    'Return-Path: <bob@theirs.example>\r\n' +
      'Received: from mx.theirs.example ([192.0.2.1]) (TLSv1.3 TLS_AES_256_GCM_SHA384)\r\n' +
      '\tby mail.ours.example (mailboxd) with ESMTPS id 01a1fd00-0000-7000-8000-000000000000\r\n' +
      '\tfor <Ann+tag@ours.example>; Tue, 03 Feb 2026 04:05:06 +0000\r\n',
  )
  t.match(trace({ mailFrom: '' }), /^Return-Path: <>\r\n/)
  t.match(
    trace({ peer: { ...smtp, helo: 'x) by evil.example; (ü' } }),
    'Received: from x+29+20by+20evil.example+3B+20+28+C3+BC ([192.0.2.1])',
    'a name that is none can not say more than a name',
  )
  t.match(trace({ peer: { ...smtp, helo: '[IPv6:2001:db8::1]' } }), 'from [IPv6:2001:db8::1] (')
  t.match(
    trace({}, 'mail.ours.example;\r\n\tspf=none'),
    '@theirs.example>\r\nAuthentication-Results: mail.ours.example;\r\n\tspf=none\r\nReceived: from ',
  )
  t.match(
    trace({ peer: { ...smtp, tls: undefined, protocol: 'SMTP' } }),
    /\(\[192\.0\.2\.1\]\)\r\n\tby mail\.ours\.example \(mailboxd\) with SMTP id /,
  )
})

t.test('an IPv6 peer is named in the form of an address literal (RFC 5321 §4.1.3)', async t => {
  t.match(
    trace({ peer: { ...smtp, remoteAddress: '2001:db8::1' } }),
    /^Received: from mx\.theirs\.example \(\[IPv6:2001:db8::1\]\) /m,
  )
})

t.test('mail from an inbox of ours was brought by nobody', async t => {
  t.equal(
    trace({ peer: { kind: 'local' } }),
    'Return-Path: <bob@theirs.example>\r\n' +
      'Received: by mail.ours.example (mailboxd) with local id 01a1fd00-0000-7000-8000-000000000000\r\n' +
      '\tfor <Ann+tag@ours.example>; Tue, 03 Feb 2026 04:05:06 +0000\r\n',
  )
})

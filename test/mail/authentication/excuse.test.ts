import t from 'tap'
import { saysProven } from '../../../lib/mail/authentication/excuse.ts'

const from = 'theirs.example'
const proves = (results: string) =>
  saysProven(`mx.relay.example; ${results}`, from, (_method, domain) => domain === from)

t.test('results of another host that prove who wrote', async t => {
  for (const results of [
    'dmarc=pass',
    'dmarc=pass header.from=theirs.example',
    'spf=fail; DMARC=PASS (p=none) Header.From=Theirs.Example',
    'spf=pass smtp.mailfrom=bounce@theirs.example',
    'dkim=pass header.d=theirs.example',
    'dkim=fail header.d=theirs.example; dkim=pass header.i=@theirs.example',
    'dmarc=none; dkim=pass header.d=theirs.example',
  ])
    t.equal(proves(results), true, results)
})

t.test('and those that do not', async t => {
  for (const results of [
    'none',
    'dmarc=fail header.from=theirs.example',
    'dmarc=pass header.from=other.example',
    'dmarc=pass header.from=other.example header.from=theirs.example',
    // What is no domain for us is a domain for somebody, and none of theirs.
    'dmarc=pass header.from=no_..domain header.from=theirs.example',
    'dmarc=pass header.from=no_..domain',
    'dmarc=pass header.from=theirs.example header.from=other.example',
    'dmarc=fail header.from=theirs.example; dmarc=pass header.from=theirs.example',
    'spf=pass smtp.mailfrom=a\\;dmarc=pass header.from=theirs.example; dmarc=fail header.from=theirs.example',
    'dmarc=pass header.from=',
    'spf=pass smtp.mailfrom=other.example',
    'spf=pass smtp.mailfrom=a@other.example smtp.mailfrom=a@theirs.example',
    'spf=pass smtp.helo=theirs.example',
    'dkim=pass header.d=other.example header.d=theirs.example',
    'dkim=pass',
    'auth=pass smtp.auth=theirs.example',
    '(dmarc=pass) spf=none',
    'spf=none "; dmarc=pass"',
    'dmarc=pass (never closed',
  ])
    t.equal(proves(results), false, results)
  t.equal(
    saysProven('dmarc=pass', from, () => true),
    false,
    'the name of the host is no result',
  )
})

import t from 'tap'
import {
  allowsHost,
  readStsId,
  readStsPolicy,
  stsPolicyMx,
  writeStsPolicy,
} from '../../../lib/mail/domain/mta-sts.ts'

t.test('the id of the policy, of one record alone', async t => {
  t.equal(readStsId(['v=STSv1; id=20160831085700Z;']), '20160831085700Z')
  t.equal(readStsId(['something else', 'v=STSv1;id=1;ext=x']), '1')
  t.equal(readStsId(['v=STSv1; id=1', 'v=STSv1; id=2']), undefined)
  for (const text of [
    'v=STSv1',
    'v=STSv12; id=1',
    'id=1; v=STSv1',
    'v=STSv1; id=a-b',
    `v=STSv1; id=${'a'.repeat(33)}`,
  ])
    t.equal(readStsId([text]), undefined, text)
})

t.test('a policy is read as it is written', async t => {
  const policy = { mode: 'enforce', mx: ['mx1.example.com', '*.example.net'], maxAgeSeconds: 86_400 } as const
  t.same(readStsPolicy(writeStsPolicy(policy)), policy)
  t.match(readStsPolicy('version: STSv1\nmode: none\nmax_age: 99999999999\n'), undefined)
  t.match(readStsPolicy('version:STSv1\nmode:none\nmax_age:999999999\nmore: x\n'), {
    maxAgeSeconds: 31_557_600,
  })
  const good = 'version: STSv1\nmode: enforce\nmx: a.example\nmax_age: 1\n'
  t.ok(readStsPolicy(good))
  for (const bad of [
    '',
    good.replace('STSv1', 'STSv2'),
    good.replace('enforce', 'maybe'),
    good.replace('mx: a.example\n', ''),
    good.replace('a.example', 'a.*.example'),
    good.replace('max_age: 1', 'max_age: -1'),
    `${good}<html>\n`,
    good + 'mx: a.example\n'.repeat(stsPolicyMx),
  ])
    t.equal(readStsPolicy(bad), undefined, bad.slice(0, 80))
})

t.test('which hosts a policy names', async t => {
  const policy = { mx: ['mx.example.com', '*.example.net'] }
  for (const host of ['mx.example.com', 'a.example.net']) t.ok(allowsHost(policy, host), host)
  for (const host of [
    'example.com',
    'a.mx.example.com',
    'example.net',
    '.example.net',
    'a.b.example.net',
    'aexample.net',
  ])
    t.notOk(allowsHost(policy, host), host)
})

import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bothPlaces, whyApart } from '../../../lib/core/nodes/blob-places.ts'
import { nodeName } from '../../../lib/core/nodes/node-name.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

t.test('a data directory has one name for good, whoever asks first', async t => {
  const dir = temporaryDir(t)
  const names = await Promise.all(Array.from({ length: 5 }, () => nodeName(dir)))
  t.match(names[0], /^[a-z0-9]{16}$/)
  t.equal(new Set([...names, await nodeName(dir)]).size, 1)
  t.strictSame(readdirSync(dir), ['node'])
  t.not(await nodeName(temporaryDir(t)), names[0])
  writeFileSync(join(dir, 'node'), 'chosen\n')
  t.equal(await nodeName(dir), 'chosen')
})

t.test(
  'nodes work together whose large messages are in one bucket, and each that does not is told why',
  t => {
    const [bucket, another] = ['s3://mail/large', 's3://mail/small']
    const at = (blobs: string, bucketOwner = 'one') => ({ id: 'i', name: 'n', blobs, bucketOwner })
    const both = bothPlaces(bucket)
    for (const [mine, other, why] of [
      [at(bucket), at(bucket), undefined],
      [
        at(bucket),
        at('disk'),
        /large messages in its data_dir, this one would have them in s3:\/\/mail\/large:/,
      ],
      [at(bucket), at(another), /large messages in s3:\/\/mail\/small, this one .* in s3:\/\/mail\/large:/],
      [at(bucket), at(bothPlaces(another)), /in its data_dir and in s3:\/\/mail\/small, this one/],
      [at('disk'), at('disk'), /in its data_dir, this one would have them in its data_dir:/],
      [at('disk'), at(bucket), /in s3:\/\/mail\/large, this one would have them in its data_dir:/],
      [at(bucket), at(bucket, 'two'), /copy the file bucket\.owner/],
      [at(bucket), at(both), /^the node n \(i\) has large messages in its data_dir that are not in s3/],
      [at(both), at(bucket), /^this node has large messages in its data_dir/],
    ] as const) {
      const said = whyApart(mine.blobs === 'disk' ? 'disk' : bucket, mine, other)
      const name = `${mine.blobs} beside ${other.blobs}`
      if (why) t.match(said, why, name)
      else t.equal(said, undefined, name)
    }
    t.end()
  },
)

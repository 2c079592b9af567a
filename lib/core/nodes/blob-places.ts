import type { NodeRow } from '../../store/tables.ts'

/** How the row of a node says that it has large messages in the bucket, and in its data directory some of before there was one. */
export const bothPlaces = (bucket: string) => `disk and ${bucket}`

const where = (blobs: string) => {
  if (blobs === 'disk') return 'in its data_dir'
  return blobs.startsWith('disk and ')
    ? `in its data_dir and in ${blobs.slice('disk and '.length)}`
    : `in ${blobs}`
}

const ended = 'If that node has ended, start this one again in a minute'

/**
 * Why a node may not work beside another, whose large messages it would not find, or whose objects it may not touch; undefined when it may.
 * @param bucket of its settings, or `disk`
 */
export function whyApart(
  bucket: string,
  mine: Pick<NodeRow, 'blobs' | 'bucketOwner'>,
  other: Pick<NodeRow, 'id' | 'name' | 'blobs' | 'bucketOwner'>,
): string | undefined {
  const node = `the node ${other.name} (${other.id})`
  const both = bothPlaces(bucket)
  if (bucket === 'disk' || (other.blobs !== bucket && other.blobs !== both))
    return `${node} works on this database and has large messages ${where(other.blobs)}, this one would have them ${where(bucket)}: several nodes need one bucket. Set \`blobs = "s3://…"\` on all of them (mailboxctl migrate --blobs moves what is there). ${ended}`
  if (other.bucketOwner !== mine.bucketOwner)
    return `${node} puts objects into ${bucket}, which would not let this one, for it could be a copy of another installation: copy the file bucket.owner of its data_dir into that of this node. ${ended}: in a database that was restored or copied, the node is one of the original, and its bucket.owner must not be copied`
  const move = `stop all nodes, run \`mailboxctl migrate --blobs ${bucket}\``
  if (other.blobs === both)
    return `${node} has large messages in its data_dir that are not in ${bucket}, or were not removed there, and this one would not find them: ${move} on that machine, and start them again. ${ended}`
  if (mine.blobs === both)
    return `this node has large messages in its data_dir, and ${node} would not find them: ${move} on this machine, and start them again. What stays in data_dir/raw then is of no message of this database: take it away`
  return undefined
}

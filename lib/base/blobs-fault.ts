/** Where large messages lie is not to be had: the bucket did not answer, or not as it should, or the disk is not mounted. */
export class BlobsFault extends Error {
  override readonly name: string = 'BlobsFault'
}

/** The bucket does not answer, or says no: an outage, which is told by who asks it. */
export class BucketOut extends BlobsFault {
  override readonly name = 'BucketOut'
}

/** The bytes of a large message are not where this node looks, and another node may have them on its disk. */
export class BytesElsewhere extends BlobsFault {
  override readonly name = 'BytesElsewhere'

  constructor() {
    super('The bytes of this message are not in the bucket; another node may have them on its disk.')
  }
}

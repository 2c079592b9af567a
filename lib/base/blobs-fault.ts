/** Where large messages lie is not to be had: the bucket did not answer, or not as it should, or the disk is not mounted. */
export class BlobsFault extends Error {
  override readonly name = 'BlobsFault'
}

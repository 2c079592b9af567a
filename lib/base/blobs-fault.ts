/** The bucket that large messages lie in did not answer, or not as it should. */
export class BlobsFault extends Error {
  override readonly name = 'BlobsFault'
}

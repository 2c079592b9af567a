import type { Content } from './content.ts'

/** What a row says of a file. */
export interface BlobFile {
  readonly id: string
  readonly sizeBytes: number
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string
}

/** A file that no row pointed to, and that was set aside. */
export interface Stray {
  readonly id: string
  /** How long ago it was set aside. */
  readonly ageMs: number
}

/** Where the large raws are: in the data directory, or in a bucket. Each is written once, and never changed. */
export interface Blobs {
  /** Moves a spool file to its place and makes that durable; only then may a row point at it. @throws BlobsFault */
  keep(file: BlobFile, spooled: string): Promise<void>
  /** It as a file on this machine, which stays for as long as a reader of it needs. @throws BlobsFault, also if a bucket returns other bytes */
  find(file: BlobFile): Promise<Content | undefined>
  /** Its bytes; undefined when it is not there. @throws BlobsFault */
  sizeOf(id: string): Promise<number | undefined>
  /** Gives false when an object of the bucket is left to the sweep, for the bucket did not answer. */
  remove(id: string): Promise<boolean>
  /** The ids of all raws that are in the data directory. */
  list(): Promise<string[]>
  /** The ids of those that lie in a bucket for longer than a day, page by page. @throws BlobsFault */
  listDistant(): AsyncIterable<readonly string[]>
  /** Moves a raw that no row points to into `stray/`, of the data directory or of the bucket. @throws BlobsFault */
  setAside(id: string): Promise<void>
  /** Moves it back to its place, if it is in `stray/`. @throws BlobsFault */
  takeBack(id: string): Promise<void>
  /** What is in `stray/`, page by page. @throws BlobsFault */
  listStrays(): AsyncIterable<readonly Stray[]>
  /** Deletes what is in `stray/` under this id. @throws BlobsFault */
  removeStray(id: string): Promise<void>
  /** Removes copies of what lies in a bucket, those first that were not read for the longest time; gives how many. */
  trimCache(): Promise<number>
  /** Puts an object into the bucket, gets it and deletes it: whether the server and its key let us. @throws BlobsFault with what it said */
  tryOut(): Promise<void>
  /** A path for a new spool file, whose folder is there; what is left there after a crash is removed at the next start. */
  spoolPath(id: string): string
  clearSpool(): Promise<void>
  close(): Promise<void>
}

/**
 * The doors of SMTP: `smtp`, by which mail of strangers comes in (port 25); `submission`, by which those that have a key
 * hand mail over to be sent (port 587, RFC 6409); `submissions`, the same with TLS from the first byte (port 465, RFC 8314).
 */
export type DoorName = 'smtp' | 'submission' | 'submissions'

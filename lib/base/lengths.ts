/** Bounds that the schemas of the API share with the code that reads and writes mail. */

/** Records of DNS that are shown beside the expected one, and characters of each. */
export const recordsFound = 10
export const recordFoundLength = 500
/** Characters of a display name. */
export const displayNameLength = 200
/** Characters of a subject (RFC 5322 §2.1.1: a line). */
export const subjectLength = 998
/** Recipients of one send: to, cc and bcc together. */
export const sendRecipients = 100
/** Characters of a file name. */
export const filenameLength = 255
/** Characters that are kept of the text of an attachment. */
export const attachmentTextLength = 500_000
/** Characters of a webhook's URL. */
export const webhookUrlLength = 2048
/** Links of one message that are shown. */
export const linksShown = 50

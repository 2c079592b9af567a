/** A message after the shape of public templates: its subject, its text (or HTML, where it begins with `<`), and what it brings. */
export type Judged = readonly [subject: string, body: string, brings: Brings]

/** A code, a link, or nothing. */
export type Brings = string | { readonly link: string } | null

/** Bodies of digits in elements of their own, as many templates have them. */
export const boxes = (code: string, element = 'td', style = '') =>
  [...code].map(each => `<${element} style="font-size:32px;${style}">${each}</${element}>`).join('')

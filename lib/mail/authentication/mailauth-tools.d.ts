/** As much of it as lib/mail/authentication.ts uses; the package types only its entry points. */
declare module 'mailauth/lib/tools.js' {
  /** The first of the domains with the same organisational domain as `fromDomain`, by the Public Suffix List. */
  export function getAlignment(fromDomain: string, domains: string[]): { domain: string } | false
}

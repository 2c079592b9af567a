/** The URL of a database's server as it may be shown and kept: without a password. */
export function withoutPassword(url: string): string {
  const parsed = URL.parse(url)
  if (!parsed || (parsed.password === '' && !parsed.searchParams.has('password'))) return url
  parsed.password = ''
  parsed.searchParams.delete('password')
  return parsed.href
}

/** What to do in the configuration where the rows are there. @param place the URL of a server, or `sqlite` */
export function settingOfPlace(place: string): string {
  return place === 'sqlite'
    ? 'take `database` out of the configuration'
    : `set database = "${withoutPassword(place)}" in the configuration`
}

/** @param place as of `settingOfPlace` */
export function placeInWords(place: string): string {
  return place === 'sqlite' ? 'mailboxd.sqlite in data_dir' : withoutPassword(place)
}

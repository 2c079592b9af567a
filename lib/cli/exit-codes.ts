/** What the exit codes of mailboxctl say (70 and 78 are those of sysexits.h, 130 is a shell's). */
export const exitCodes: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'It was done, or the answer is yes.'],
  [
    1,
    'It was refused or not found, or the answer of a check is no (doctor and dns check: a warning was found).',
  ],
  [2, 'The command line is wrong, or doctor or dns check found an error.'],
  [70, 'A fault of mailboxd or of the machine, such as a disk that is full or can not be read.'],
  [78, 'The configuration is wrong, or there is no installation where it was looked for.'],
  [
    130,
    'It asked, and was ended by ^C: nothing was done. 129, 130 or 143: SIGHUP, ^C or SIGTERM ended a backup or a restore, which left nothing.',
  ],
]

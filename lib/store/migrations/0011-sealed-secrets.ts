import type { Migration } from './migration.ts'

export const sealedSecrets: Migration = {
  number: 11,
  name: 'sealed-secrets',
  // A program that does not know it would take a sealed secret for the secret. There is no `fill`: the key is in a file,
  // which a step of the schema can't ask for (lib/core/app/secrets.ts seals what is there, before anything reads it).
  breaking: true,
  sql: `
create table "secretKey" (
  "id" text primary key,
  "createdAt" text not null,
  "sealedAt" text
);
`,
}

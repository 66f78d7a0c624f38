import type { Migration } from '../shared/schema.ts'

/** Migrations of an Events object: from version 1 to 2, from 2 to 3, and so on. Never changed after a release. */
export const migrations: readonly Migration[] = []

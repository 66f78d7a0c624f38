import { migrations as session } from '../session/migrations.ts'
import type { Migration } from '../shared/schema.ts'

/**
 * Migrations of each kind of object of the session class: from version 1 to 2, from 2 to 3, and so on. Never changed after a release. What
 * one kind stores changes without the others: after a rollback, only objects of that kind refuse requests.
 */
const keyRing: readonly Migration[] = []
const requestState: readonly Migration[] = []
const usedProofs: readonly Migration[] = []

export const migrations = { keyRing, requestState, session, usedProofs }

/** Returns the migrations of an object. @param name that of the object; an alarm may not know it */
export function migrationsOf(name: string | undefined, kv: SyncKvStorage): readonly Migration[] {
  if (name === undefined) return migrationsOfStored(kv)
  if (name === 'keys') return keyRing
  if (name.startsWith('request-state ')) return requestState
  return name.startsWith('dpop ') ? usedProofs : session
}

function migrationsOfStored(kv: SyncKvStorage): readonly Migration[] {
  if (kv.get('keys') !== undefined) return keyRing
  if (kv.get('use') !== undefined || kv.get('kept:0') !== undefined) return requestState
  for (const _ of kv.list({ prefix: 'proof:', limit: 1 })) return usedProofs
  return session
}

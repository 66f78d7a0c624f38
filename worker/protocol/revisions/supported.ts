import type { Revision } from '../revision.ts'
import { rev20241105 } from './2024-11-05.ts'
import { rev20250326 } from './2025-03-26.ts'
import { rev20250618 } from './2025-06-18.ts'
import { rev20251125 } from './2025-11-25.ts'
import { rev20260728 } from './2026-07-28.ts'

/** The supported protocol versions, newest first. */
export const revisions: readonly [Revision, ...Revision[]] = [
  rev20260728,
  rev20251125,
  rev20250618,
  rev20250326,
  rev20241105,
]

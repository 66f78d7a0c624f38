import type { Revision } from '../../../../worker/protocol/revision.ts'
import { rev20241105 } from '../../../../worker/protocol/revisions/2024-11-05.ts'
import { rev20250326 } from '../../../../worker/protocol/revisions/2025-03-26.ts'
import { rev20250618 } from '../../../../worker/protocol/revisions/2025-06-18.ts'
import { rev20251125 } from '../../../../worker/protocol/revisions/2025-11-25.ts'
import { rev20260728 } from './2026-07-28.ts'
import { rev20270115 } from './2027-01-15.ts'

export const revisions: readonly [Revision, ...Revision[]] = [
  rev20270115,
  rev20260728,
  rev20251125,
  rev20250618,
  rev20250326,
  rev20241105,
]

import { sdk20241105 } from './2024-11-05.ts'
import { sdk20250326 } from './2025-03-26.ts'
import { sdk20250618 } from './2025-06-18.ts'
import { sdk20251125, sdk20251125OverSse } from './2025-11-25.ts'
import { legacy, pinned } from './2026-07-28.ts'
import type { Generation } from './generation.ts'

/** Published clients, newest first: one for each revision and transport that they settle on. */
export const generations: readonly Generation[] = [
  pinned,
  legacy,
  sdk20251125,
  sdk20251125OverSse,
  sdk20250618,
  sdk20250326,
  sdk20241105,
]

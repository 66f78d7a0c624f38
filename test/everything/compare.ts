/** Finds the differences of two normalized answers, and matches them with the differences that are expected. */

/** One value that differs, and where it is: `result.content.0.text`. */
export type Difference = {
  readonly case: string
  readonly path: string
  readonly reference: unknown
  readonly example: unknown
}

/** A difference that is on purpose. */
export type ExpectedDifference = {
  /** The clients that see it, by name. Default: all. */
  readonly client?: RegExp
  /** The cases in which it occurs, by name. */
  readonly cases: RegExp
  /** Where in the answers it occurs. */
  readonly path: RegExp
  /** What the two servers answer, and why the example's answer stays. */
  readonly reason: string
}

const absent = '<absent>'

/** Returns every place where two values differ. */
export function differences(
  name: string,
  reference: unknown,
  example: unknown,
  path: readonly string[] = [],
): Difference[] {
  if (Object.is(reference, example)) return []
  const [one, other] = [membersOf(reference), membersOf(example)]
  if (!one || !other) return [{ case: name, path: path.join('.'), reference, example }]
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return keys.flatMap((key) =>
    differences(name, key in one ? one[key] : absent, key in other ? other[key] : absent, [...path, key]),
  )
}

const membersOf = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null ? { ...value } : undefined

/** Sorts differences into those that are expected and those that are not. Names expected differences that did not occur. */
export function judge(
  found: readonly Difference[],
  table: readonly ExpectedDifference[],
  client: string,
  cases: readonly string[],
) {
  const expected = table.filter((entry) => !entry.client || entry.client.test(client))
  const explanation = (difference: Difference) =>
    expected.find(({ cases, path }) => cases.test(difference.case) && path.test(difference.path))
  const used = new Set(found.map(explanation))
  return {
    unexpected: found.filter((difference) => !explanation(difference)),
    explained: expected.map((entry) => ({ entry, found: found.filter((one) => explanation(one) === entry) })),
    // An expected difference of cases that did not run says nothing.
    gone: expected.filter((entry) => !used.has(entry) && cases.some((name) => entry.cases.test(name))),
  }
}

/** Describes a difference in four lines. */
export const textOf = ({ case: name, path, reference, example }: Difference): string =>
  `${name}\n  at ${path}\n  reference: ${JSON.stringify(reference)}\n  example:   ${JSON.stringify(example)}`

/** Returns a table of the expected differences that occurred: how often, and why. */
export function tableOf(
  client: string,
  cases: number,
  explained: readonly { entry: ExpectedDifference; found: readonly Difference[] }[],
): string {
  const rows = explained.filter(({ found }) => found.length > 0)
  const equal = cases - new Set(rows.flatMap(({ found }) => found.map((one) => one.case))).size
  const lines = rows.map(({ entry, found }) => `${String(found.length).padStart(5)}  ${entry.reason}`)
  return [`${client}: ${cases} cases, ${equal} equal. Differences:`, ...lines].join('\n')
}

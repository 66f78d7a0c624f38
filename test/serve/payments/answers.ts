/** What a person may say to the two questions of a transfer, and what must come of it. */
import type { Chance } from '../../support/random.ts'

export type Question = 'consent' | 'thanks'

export type Said = {
  says: string
  /** Fits its form. */
  fits: boolean
  /** Yes, transfer it. */
  consents: boolean
  note: string | undefined
  result: object
}

const said = (says: string, result: object, more: Partial<Said> = {}): Said => ({
  says,
  fits: true,
  consents: false,
  note: undefined,
  result,
  ...more,
})
const accept = (content: object) => ({ action: 'accept', content })

export const yes = said('yes', accept({ sure: true }), { consents: true })

const refusals: readonly Said[] = [
  said('not sure', accept({ sure: false })),
  said('decline', { action: 'decline' }),
  said('cancel', { action: 'cancel' }),
]

const goodbyes: readonly Said[] = [
  said('a note', accept({ note: 'rent' }), { note: 'rent' }),
  said('no note', accept({})),
  said('decline', { action: 'decline' }),
  said('cancel', { action: 'cancel' }),
]

const nonsense: Readonly<Record<Question, readonly Said[]>> = {
  consent: [
    said('sure: "perhaps"', accept({ sure: 'perhaps' }), { fits: false }),
    said('accept without a form', { action: 'accept' }, { fits: false }),
    said('perhaps', { action: 'perhaps' }, { fits: false }),
  ],
  thanks: [
    said('note: 5', accept({ note: 5 }), { fits: false }),
    said('perhaps', { action: 'perhaps' }, { fits: false }),
  ],
}

export const refusal = (by: Chance) => by.one(refusals)
export const nonsenseTo = (question: Question, by: Chance) => by.one(nonsense[question])

/** Mostly yes: there is more to go wrong afterwards. */
export function answerTo(question: Question, by: Chance): Said {
  if (question === 'thanks') return by.one(goodbyes)
  return by.often(0.7) ? yes : refusal(by)
}

export type Payment = { to: string; amount: number }

/** The bank takes its time over a large amount: whatever happens meanwhile happens in the middle of a round. */
export const amountOf = (by: Chance) => by.whole(1, 99) * (by.rarely(5) ? 100 : 1)
export const isLarge = ({ amount }: Payment) => amount >= 100

export const consentQuestion = ({ to, amount }: Payment) => `Transfer ${amount} to ${to}?`
export const thanksQuestion = 'Done. A note for the receipt?'
export const nothing = 'Nothing was transferred.'

const receipt = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

/** The receipt in the text that ends a transfer with this note; `undefined`: this text is another one. */
export function receiptIn(text: string | undefined, { to, amount }: Payment, note: string | undefined) {
  const found = new RegExp(`, receipt (${receipt})`).exec(text ?? '')?.[1]
  const due = `Transferred ${amount} to ${to}, receipt ${found}${note ? ` (${note})` : ''}.`
  return found && text === due ? found : undefined
}

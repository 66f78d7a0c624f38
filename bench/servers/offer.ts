/** The tools and resources of every server that is compared, and the results that all of them return. */
import { tools } from './wire.ts'

/**
 * `plain`: three tools and a resource; `many`: 50 tools; `talking`: tools that report progress and that request input; the others:
 * one tool with structured output, whose schemas are of that library.
 */
export type Offer = 'plain' | 'many' | 'talking' | 'zod' | 'valibot' | 'json'

declare global {
  /** Decided when a server is bundled, so that a bundle contains only what it offers. */
  const OFFER: Offer
  /** The number of tools of the offer `many`. */
  const TOOLS: number
  /** The number of notifications of the offer `talking`. */
  const STEPS: number
  /** Milliseconds before each of them. */
  const PAUSE_MS: number
  /** The least length of the text that follows them. */
  const RESULT_CHARACTERS: number
}

/** What a scenario fixes when its servers are bundled: the values of the constants above. */
export type Sizes = {
  readonly tools: number
  readonly steps: number
  readonly pauseMs: number
  readonly resultCharacters: number
}

/** The sizes of an offer, unless a scenario has others. */
export const defaultSizes: Sizes = { tools: 50, steps: 5, pauseMs: 0, resultCharacters: 0 }

const isServer = typeof OFFER !== 'undefined'

/** @param count the number of tools in total: three of these are no greeters */
export const greetersOf = (count: number) =>
  Array.from({ length: count - Object.keys(tools).length }, (_, index) => ({
    name: `greet_${index + 4}`,
    description: `${tools.greet.description}, in way ${index + 4}`,
  }))

/** The greeters of a server. */
export const greeters = greetersOf(isServer ? TOOLS : defaultSizes.tools)

export const greeting = (name: string) => `Hello, ${name}!`

export const readme = {
  name: 'readme',
  uri: 'bench://readme',
  description: 'What there is to know',
  mimeType: 'text/plain',
  text: 'These servers are there to be measured. They say what they are told, add, greet, convert, and count.',
}

/** The tool with structured output. */
export const convert = { name: 'convert', description: 'Converts temperatures from Celsius to Fahrenheit' }

export type Temperatures = { readings: { place: string; celsius: number }[] }
export type Converted = { readings: { place: string; fahrenheit: number }[]; warmest: string }

export function converted({ readings }: Temperatures): Converted {
  const [warmest] = readings.toSorted((a, b) => b.celsius - a.celsius)
  return {
    readings: readings.map(({ place, celsius }) => ({ place, fahrenheit: (celsius * 9) / 5 + 32 })),
    warmest: warmest?.place ?? '',
  }
}

/** The tool that reports its progress this many times. */
export const count = { name: 'count', description: 'Counts, and says how far it is' }
export const steps = isServer ? STEPS : defaultSizes.steps
export const countedOf = (characters: number) => 'counted all'.padEnd(characters, '.')
export const counted = countedOf(isServer ? RESULT_CHARACTERS : defaultSizes.resultCharacters)

/** After so many notifications, a handler waits until they are sent: a stateless stream drops what exceeds 1 MiB unsent. */
const stepsWithoutPause = 1000

/** Waits before a notification, if the scenario has pauses or if many were sent. */
export function pause(step: number): Promise<unknown> | undefined {
  const pauseMs = PAUSE_MS === 0 && step > 1 && step % stepsWithoutPause === 1 ? 10 : PAUSE_MS
  return pauseMs > 0 ? new Promise((resolve) => setTimeout(resolve, pauseMs)) : undefined
}

/** The tool that requests input before an effect. */
export const buy = { name: 'buy', description: 'Buys something, after asking' }
export const question = (item: string) => `Buy ${item}?`
export const bought = (item: string, isSure: boolean) => (isSure ? `Bought ${item}.` : 'Nothing was bought.')
export const consentSchema = {
  type: 'object' as const,
  properties: { sure: { type: 'boolean' as const } },
  required: ['sure'],
}

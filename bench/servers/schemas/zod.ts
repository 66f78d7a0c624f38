import * as z from 'zod'

export const echo = z.object({ text: z.string() })
export const add = z.object({ a: z.number(), b: z.number() })
export const greet = z.object({ name: z.string() })
export const buy = z.object({ item: z.string() })
export const consent = z.object({ sure: z.boolean() })
export const nothing = z.object({})

export const temperatures = z.object({
  readings: z.array(z.object({ place: z.string(), celsius: z.number() })),
})
export const converted = z.object({
  readings: z.array(z.object({ place: z.string(), fahrenheit: z.number() })),
  warmest: z.string(),
})

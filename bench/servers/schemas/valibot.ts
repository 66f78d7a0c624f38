import * as v from 'valibot'

export const temperatures = v.object({
  readings: v.array(v.object({ place: v.string(), celsius: v.number() })),
})
export const converted = v.object({
  readings: v.array(v.object({ place: v.string(), fahrenheit: v.number() })),
  warmest: v.string(),
})

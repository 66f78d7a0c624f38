const string = { type: 'string' } as const
const number = { type: 'number' } as const

export const temperatures = {
  type: 'object',
  properties: {
    readings: {
      type: 'array',
      items: { type: 'object', properties: { place: string, celsius: number }, required: ['place', 'celsius'] },
    },
  },
  required: ['readings'],
} as const

export const converted = {
  type: 'object',
  properties: {
    readings: {
      type: 'array',
      items: { type: 'object', properties: { place: string, fahrenheit: number }, required: ['place', 'fahrenheit'] },
    },
    warmest: string,
  },
  required: ['readings', 'warmest'],
} as const

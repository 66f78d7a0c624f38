/** A form with every kind of field that the protocol has. */
export const everyField = {
  type: 'object',
  properties: {
    name: { title: 'String', type: 'string', description: 'Your name' },
    check: { title: 'Boolean', type: 'boolean', description: 'Whether you agree' },
    firstLine: {
      title: 'String with default',
      type: 'string',
      description: 'How a story begins',
      default: 'It was a dark and stormy night.',
    },
    email: { title: 'String with email format', type: 'string', format: 'email', description: 'Your email address' },
    homepage: { title: 'String with uri format', type: 'string', format: 'uri', description: 'Your website' },
    birthdate: { title: 'String with date format', type: 'string', format: 'date', description: 'Your birthday' },
    integer: {
      title: 'Integer',
      type: 'integer',
      description: 'An integer that you like',
      minimum: 1,
      maximum: 100,
      default: 42,
    },
    number: {
      title: 'Number in range 1-1000',
      type: 'number',
      description: 'A number that you like',
      minimum: 0,
      maximum: 1000,
      default: 3.14,
    },
    untitledSingleSelectEnum: {
      type: 'string',
      title: 'Untitled Single Select Enum',
      description: 'One friend',
      enum: ['Monica', 'Rachel', 'Joey', 'Chandler', 'Ross', 'Phoebe'],
      default: 'Monica',
    },
    untitledMultipleSelectEnum: {
      type: 'array',
      title: 'Untitled Multiple Select Enum',
      description: 'One to three instruments',
      minItems: 1,
      maxItems: 3,
      items: { type: 'string', enum: ['Guitar', 'Piano', 'Violin', 'Drums', 'Bass'] },
      default: ['Guitar'],
    },
    titledSingleSelectEnum: {
      type: 'string',
      title: 'Titled Single Select Enum',
      description: 'One hero',
      oneOf: [
        { const: 'hero-1', title: 'Superman' },
        { const: 'hero-2', title: 'Green Lantern' },
        { const: 'hero-3', title: 'Wonder Woman' },
      ],
      default: 'hero-1',
    },
    titledMultipleSelectEnum: {
      type: 'array',
      title: 'Titled Multiple Select Enum',
      description: 'One to three fish',
      minItems: 1,
      maxItems: 3,
      items: {
        anyOf: [
          { const: 'fish-1', title: 'Tuna' },
          { const: 'fish-2', title: 'Salmon' },
          { const: 'fish-3', title: 'Trout' },
        ],
      },
      default: ['fish-1'],
    },
    legacyTitledEnum: {
      type: 'string',
      title: 'Legacy Titled Single Select Enum',
      description: 'One pet',
      enum: ['pet-1', 'pet-2', 'pet-3', 'pet-4', 'pet-5'],
      enumNames: ['Cats', 'Dogs', 'Birds', 'Fish', 'Reptiles'],
      default: 'pet-1',
    },
  },
  required: ['name'],
} as const

/** A short form. */
export const fewFields = {
  type: 'object',
  properties: {
    name: { title: 'Your Name', type: 'string', description: 'Your name' },
    favoriteColor: {
      title: 'Favorite Color',
      type: 'string',
      description: 'A color that you like',
      enum: ['Red', 'Blue', 'Green', 'Yellow', 'Purple'],
    },
    agreeToTerms: { title: 'Terms Agreement', type: 'boolean', description: 'Whether you agree' },
  },
  required: ['name'],
} as const

/**
 * Matches texts with the patterns of JSON Schema, in time that grows in proportion to the text.
 *
 * A RegExp backtracks: `^(a+)+$` doubles its time with each character of a text that does not match, and nothing can interrupt it. So a
 * RegExp matches only for patterns that backtrack little. For the others, an automaton follows all alternatives at once and reads each
 * character once. All patterns and texts of one value share its `Steps`: a text that would take more is refused.
 *
 * @see https://swtch.com/~rsc/regexp/regexp1.html
 */

type Assertion = (text: string, index: number) => boolean
type Matches = (character: string) => boolean

type Node =
  | { readonly kind: 'character'; readonly matches: Matches }
  | { readonly kind: 'assertion'; readonly holds: Assertion }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly min: number; readonly max: number }
  /** A lookahead or lookbehind. */
  | { readonly kind: 'look'; readonly part: Node }
  /** Anything else that only a RegExp has. `degree`: the power of the length of the text that it reads. */
  | { readonly kind: 'special'; readonly degree: number }

/** A pattern that is too slow. The message is the pattern that was expected. */
export class SlowPattern extends Error {}

const mostSteps = 20_000_000
/** The step of an automaton takes longer than that of a RegExp. */
const mostCountedSteps = 5_000_000

/**
 * The steps that patterns have taken for the texts of one value. Those of a RegExp are an upper bound, and far more than it takes for most
 * texts, so they leave as many for automata, which count.
 */
export class Steps {
  /** Steps of automata, and of regular expressions that are compiled. */
  counted = 0
  #estimated = 0
  #characters = 0
  readonly #texts = new Set<string>()

  /** Adds counted steps. Returns false if they are more than 5 million. */
  count(steps: number): boolean {
    this.counted += steps
    return this.counted <= mostCountedSteps
  }

  /** Adds the steps of a RegExp for a text. Returns false if they are more than 20 million, and 20 for each character of all texts. */
  take(steps: number, text: string): boolean {
    // A text that several patterns read counts once.
    if (!this.#texts.has(text)) this.#characters += text.length
    this.#texts.add(text)
    // Also a RegExp that reads nothing takes time to start.
    if (!this.count(1)) return false
    if (this.#estimated + steps > Math.max(mostSteps, 20 * this.#characters)) return false
    this.#estimated += steps
    return true
  }
}

/** A pattern runs as a RegExp if any text of this length takes few enough steps. */
const usualLength = 5000

/**
 * Compiles a pattern. The function returns `undefined` for a text that takes more steps than are left.
 *
 * @throws SyntaxError for a text that is no regular expression
 * @throws SlowPattern for one that a RegExp may take long to match, and that the automaton does not support
 */
export function compilePattern(source: string): (text: string, steps?: Steps) => boolean | undefined {
  const pattern = regExp(source)
  const root = new PatternParser(pattern.source).parse()
  const isAnchored = isAtStart(root)
  // Without an anchor, a RegExp begins again at each character.
  const stepsOf = byLength((length) => costOf(root, length).steps * (isAnchored ? 1 : length + 1))
  // Otherwise a short text can take as many steps as a long one: `^(a?){20}$`.
  const hasFewPaths = costOf(root, usualLength).paths <= 10 * usualLength
  if (!hasFewPaths || stepsOf(usualLength) > mostSteps) {
    const automaton = new Automaton(root, isAnchored)
    return (text, steps = new Steps()) => automaton.matches(text, steps)
  }
  let other: Automaton | undefined
  return (text, steps = new Steps()) => {
    if (steps.take(stepsOf(text.length), text)) return pattern.test(text)
    try {
      other ??= new Automaton(root, isAnchored)
    } catch {
      return undefined
    }
    return other.matches(text, steps)
  }
}

/** Remembers costs, as bounds for few lengths: those of large patterns take longer to compute than short texts take to match. */
function byLength(compute: (length: number) => number): (length: number) => number {
  const known = new Map<number, number>()
  return (length) => {
    if (length > usualLength) return compute(length)
    const near = Math.min(usualLength, 2 ** Math.ceil(Math.log2(length + 1)))
    const cost = known.get(near) ?? compute(near)
    known.set(near, cost)
    return cost
  }
}

function regExp(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    return new RegExp(strict(source), 'u')
  }
}

/**
 * Rewrites what is an error with the flag `u` only, and has one meaning: escapes without need, and brackets and hyphens without escape. What
 * other engines read in another way remains an error, such as `\A`, `\1` and `{,5}`.
 */
function strict(source: string): string {
  let isInClass = false
  return source.replace(looseToken, (token) => {
    if (token === '{' || token === '}' || (token === ']' && !isInClass)) return `\\${token}`
    if (token === '[' || token === ']') isInClass = token === '['
    // Beside an escape for several characters.
    if (/^(?:\\\w)?-$/.test(token)) return token.replace('-', '\\x2d')
    // Valid in classes, too, where some of these characters need an escape and others must not have one.
    if (/^\\[^a-z\d]$/iu.test(token)) return `\\u{${token.codePointAt(1)?.toString(16)}}`
    return token
  })
}

/** Quantifiers, escapes with their braces, brackets, and hyphens beside an escape for several characters. */
const looseToken =
  /\{(?:\d+(?:,\d*)?|,\d+)\}|\\[pPu]\{[^}]*\}|\\[dDsSwW]-(?!(?:\\.|[^\]])-[^\]])|\\.|[[\]{}]|-(?=\\[dDsSwW])/gsu

/** Reads a regular expression that is valid with the flag `u`. */
class PatternParser {
  readonly #source: string
  #index = 0

  constructor(source: string) {
    this.#source = source
  }

  parse(): Node {
    const parts = [this.#sequence()]
    while (this.#take('\\|')) parts.push(this.#sequence())
    return { kind: 'choice', parts }
  }

  #sequence(): Node {
    const parts: Node[] = []
    while (!/^[|)]?$/.test(this.#source.charAt(this.#index))) parts.push(this.#quantified(this.#atom()))
    return { kind: 'sequence', parts }
  }

  #quantified(part: Node): Node {
    const [quantifier, least, comma, most] = this.#take('(?:[*+?]|\\{(\\d+)(,?)(\\d*)\\})\\??') ?? []
    if (quantifier === undefined) return part
    const min = Number(least ?? (quantifier.startsWith('+') ? 1 : 0))
    const isUnbounded = least === undefined ? !quantifier.startsWith('?') : comma && !most
    return { kind: 'repeat', part, min, max: isUnbounded ? Number.POSITIVE_INFINITY : Number(most || least || 1) }
  }

  #atom(): Node {
    const [group] = this.#take('\\((?:\\?(?:<?[=!]|<[^>]*>|[a-z-]*:))?') ?? []
    if (group) {
      const part = this.parse()
      this.#take('\\)')
      if (/^\((?:$|\?:|\?<[^=!])/.test(group)) return part
      if (!group.endsWith(':')) return { kind: 'look', part }
      // With flags of its own, such as (?i:a).
      const flags: Node = { kind: 'special', degree: 0 }
      // With m, "^" also matches behind a line break: the group must not begin with it, as an anchor does.
      return { kind: 'sequence', parts: group.includes('m') ? [flags, part] : [part, flags] }
    }
    const [assertion = ''] = this.#take('[$^]|\\\\[bB]') ?? []
    const holds = assertions.get(assertion)
    if (holds) return { kind: 'assertion', holds }
    if (this.#take('\\\\(?:[1-9]\\d*|k<[^>]*>)')) return { kind: 'special', degree: 1 }
    const [atom = ''] = this.#take(anyAtom) ?? []
    if (!/^[.[\\]/.test(atom)) return { kind: 'character', matches: (character) => character === atom }
    const one = new RegExp(`^${atom}$`, 'u')
    // All states of a repetition ask for the same character.
    let [last, isMatch] = ['', false]
    const matches = (character: string) => {
      if (character !== last) [last, isMatch] = [character, one.test(character)]
      return isMatch
    }
    return { kind: 'character', matches }
  }

  /** Returns the match at the current position, and moves behind it; `undefined` if there is none. */
  #take(token: string): RegExpExecArray | undefined {
    const sticky = new RegExp(token, 'uy')
    sticky.lastIndex = this.#index
    const found = sticky.exec(this.#source) ?? undefined
    this.#index += found?.[0].length ?? 0
    return found
  }
}

const anyAtom =
  '\\[(?:\\\\[^]|[^\\]\\\\])*\\]|\\\\(?:[pP]\\{[^}]*\\}|u\\{[^}]*\\}|u[dD][89abAB][\\da-fA-F]{2}\\\\u[dD][c-fC-F][\\da-fA-F]{2}|' +
  'u[\\da-fA-F]{4}|x[\\da-fA-F]{2}|c[a-zA-Z]|[^])|[^]'

const isWordAt = (text: string, index: number) => /\w/.test(text.charAt(index))
const isBoundary: Assertion = (text, index) => isWordAt(text, index - 1) !== isWordAt(text, index)
const isStart: Assertion = (_, index) => index === 0

const assertions: ReadonlyMap<string, Assertion> = new Map<string, Assertion>([
  ['^', isStart],
  ['$', (text, index) => index === text.length],
  ['\\b', isBoundary],
  ['\\B', (text, index) => !isBoundary(text, index)],
])

/** Whether a pattern matches only at the start of a text. */
function isAtStart(node: Node): boolean {
  if (node.kind === 'choice') return node.parts.every(isAtStart)
  if (node.kind !== 'sequence') return node.kind === 'assertion' && node.holds === isStart
  const first = node.parts.find(({ kind }) => kind !== 'look')
  return first !== undefined && isAtStart(first)
}

/**
 * An upper bound of what a RegExp tries at one position of a text.
 *
 * `steps`: the characters and assertions that it reads. `paths`: the ways to match.
 */
type Cost = { readonly steps: number; readonly paths: number }

function costOf(node: Node, length: number): Cost {
  switch (node.kind) {
    case 'sequence': {
      let [steps, paths] = [0, 1]
      for (const part of node.parts) {
        const cost = costOf(part, length)
        steps += times(cost.steps, paths)
        paths *= cost.paths
      }
      return { steps, paths }
    }
    case 'choice': {
      const costs = node.parts.map((part) => costOf(part, length))
      return { steps: 1 + sum(costs.map(({ steps }) => steps)), paths: sum(costs.map(({ paths }) => paths)) }
    }
    case 'repeat': {
      const { steps, paths } = costOf(node.part, length)
      const max = Math.min(node.max, node.min + length)
      if (max === 0) return { steps: 0, paths: 1 }
      return { steps: times(steps, max * paths ** (max - 1)), paths: (max - node.min + 1) * paths ** max }
    }
    case 'look':
      // A RegExp does not go back into it.
      return { steps: costOf(node.part, length).steps, paths: 1 }
    case 'special':
      return { steps: length ** node.degree, paths: 1 }
    default:
      return { steps: 1, paths: 1 }
  }
}

/** Multiplies a number of steps. Nothing stays nothing: 0 * Infinity is no number. */
const times = (steps: number, factor: number) => (steps === 0 ? 0 : steps * factor)

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

/** A state, which an assertion guards or a character leaves. */
type State = { holds?: Assertion; matches?: Matches; next: readonly State[]; reachedAt: number }

/** Bounds the time for each character. */
const maxStates = 2000

/** A nondeterministic automaton, by Thompson's construction. */
class Automaton {
  readonly #isAnchored: boolean
  readonly #end: State = { next: [], reachedAt: 0 }
  readonly #start: State
  #states = 0
  /** Counts the positions of all texts: a state is reached once at each. */
  #position = 0

  /** @throws SlowPattern */
  constructor(root: Node, isAnchored: boolean) {
    this.#isAnchored = isAnchored
    this.#start = this.#build(root, this.#end)
  }

  /** Returns `undefined` for a text that takes too many steps. */
  matches(text: string, steps: Steps): boolean | undefined {
    let states: State[] = []
    let index = 0
    this.#position += 1
    for (;;) {
      if (index === 0 || !this.#isAnchored) steps.counted += this.#reach(this.#start, text, index, states)
      if (this.#end.reachedAt === this.#position) return true
      if (steps.counted > mostCountedSteps) return undefined
      if (index >= text.length || (states.length === 0 && this.#isAnchored)) return false
      const character = String.fromCodePoint(text.codePointAt(index) ?? 0)
      index += character.length
      this.#position += 1
      const reached: State[] = []
      for (const { matches, next } of states) {
        if (matches?.(character)) for (const state of next) steps.counted += this.#reach(state, text, index, reached)
      }
      states = reached
    }
  }

  /** Adds the states that are reached from one without a character. Returns the number of steps. */
  #reach(from: State, text: string, index: number, states: State[]): number {
    const open = [from]
    let steps = 0
    for (let state = open.pop(); state; state = open.pop()) {
      steps += 1
      if (state.reachedAt === this.#position) continue
      state.reachedAt = this.#position
      if (state.matches) states.push(state)
      else if (state.holds?.(text, index) ?? true) open.push(...state.next)
    }
    return steps
  }

  /** Returns the state from which a node leads to the next state. */
  #build(node: Node, next: State): State {
    switch (node.kind) {
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.#build(part, after), next)
      case 'choice':
        return this.#state({ next: node.parts.map((part) => this.#build(part, next)) })
      case 'repeat':
        return this.#repeat(node.part, node.min, node.max, next)
      case 'look':
      case 'special':
        throw new SlowPattern(
          'a pattern that takes little time: with lookaround or a backreference, "^" at its start and at most one "*", "+" or "{n,}"',
        )
      default:
        return this.#state({ ...node, next: [next] })
    }
  }

  #repeat(part: Node, min: number, max: number, next: State): State {
    let state = next
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.#state({ next: [] })
      loop.next = [this.#build(part, loop), next]
      state = loop
    }
    for (let count = min; count < max && max !== Number.POSITIVE_INFINITY; count += 1) {
      state = this.#state({ next: [this.#build(part, state), next] })
    }
    for (let count = 0; count < min; count += 1) state = this.#build(part, state)
    return state
  }

  #state(state: Omit<State, 'reachedAt'>): State {
    this.#states += 1
    if (this.#states > maxStates) throw new SlowPattern('a pattern with fewer or shorter repetitions')
    return { ...state, reachedAt: 0 }
  }
}

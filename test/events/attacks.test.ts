import { share } from '../support/full.ts'
import { attacks } from './attacks.ts'
import { testAttacks } from './test-attacks.ts'

testAttacks(share(attacks, 4), '10s')

import { slowAttacks } from '../events/attacks.ts'
import { testAttacks } from '../events/test-attacks.ts'

testAttacks(slowAttacks, '1s')

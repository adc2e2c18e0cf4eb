package ingest

// wordRarity lists common words of code and its comments by how rare they are:
// a word in the n-th line is in about one of 2^n files, counted over Go, C,
// Python and JavaScript with equal weight. What is not listed is rarer.
// The lines are sorted; all words are lower case.
var wordRarity = [...]string{
	// one file in 2
	"all and can code const error file for from get import int name new not return set source string that the this true type use value with",
	// one file in 4
	"add any are authors base bool bsd but call case check class copy copyright create data def default define else end endif err except exports false " +
		"first found func function has have https include info init key len length license list main make map max may module must non none null number object " +
		"one only org other out package path range read require reserved result returns rights see self should size start struct style test time try used var " +
		"version when which will without write you",
	// one file in 8
	"above after allow already also always apache append arg args argument array assert async attribute available await because been before bit bits block " +
		"both break buffer build byte bytes called cannot catch char close com command constructor contains context continue count cplusplus current defined " +
		"delete different dir does doesn don done each either empty encoding entry equal errors even example exception expected export extern fail failed files " +
		"find flag flags fn following format free functions generated given global got governed handle header here html http ifdef ifndef ignore impl index " +
		"information input instance instead interface internal into invalid its join just keys last let level like line load local log long mapping match " +
		"message method mode more msg multiple mut names need next nil node note now num off old once open optional options order otherwise output parse part " +
		"pass point prefix print process project property pub public push python raise raw remove replace required returned root run runtime same since single " +
		"skip slice some specific specified split stack state static str stream strict strings such support switch sys target testing tests text than them then " +
		"there these they throw two types uint undefined under unittest unknown unsigned update url user using utf valid values void want warning was where " +
		"whether while would www zero",
	// one file in 16
	"abc about abstract accept access actual actually added additional addr address again algorithm alias allowed another anything api arguments ascii " +
		"assign attr attributes avoid back bad bar based basic begin behavior being below between big binary body boolean buf cache callback calling calls " +
		"cases cause change changed changes character characters checking checks child cleanup clear client cls cmd common compare compatibility compile " +
		"complete compliance conditions config connection contain containing content contents control convert correct could created crypto ctx currently custom " +
		"date debug decode deep defaults defer del deprecated description details dev dict directly directory disable distributed distribution doc double down " +
		"during edit element elif enable enabled encode enough ensure entries enum env errorf escape etc event every exceptions exec exist existing exists exit " +
		"explicit explicitly express extends extension extra fails failure features field fields filename filter final finally fix float fmt foo force form " +
		"full future gen general generate generic getattr github gnu greater group handler hasattr hash headers helper host how identifier idx ignored " +
		"implementation implemented implied inc includes including initial insert integer isinstance isn issue item items iter itself json keep kind know known " +
		"lambda language large later least left less lib library licensed licenses limit lines link linux location lock look lookup loop lower many mark mask " +
		"matches math maximum means memory methods might min missing mod modify modules most move named namespace needed needs negative never normal nothing " +
		"npm obj objects obtain offset openssl operation option opts original our over overflow override own pair panic param parameter parameters params " +
		"parent parser particular passed paths pattern per pkg platform pointer pop pos position possible pragma pre present previous printf println private " +
		"program protected protocol provide provided ptr purpose put raises random reader real reason received ref reference regex register relative release " +
		"removed repr request requires res reset resolve results rfc right running safe save script search second section select send sequence server sets " +
		"setting shared shift short sign signal signature simple sizeof small socket software something sort sorted space spdx spec special src ssl standard " +
		"starts startswith stat status stderr stdout still stop store strip structure sub super supported sure symbol sync syntax syscall system table tag take " +
		"their those thread three through throws timeout times todo token too top total tree tuple txt typedef typeof unicode union unix unless unsafe " +
		"unsupported until usage useful uses usize util utils val variable verify versions via wait warn warnings warranties way well were what win windows " +
		"within work works writer writing written wrong xxx yet yield your",
	// one file in 32
	"able abort abs absolute according action active adding adds against agreed align alloc allows alltypes along analysis anyway appear applicable " +
		"application apply appropriate arbitrary arch aren argv arm around asn associated assume atomic attempt auth author auto automatically backward basis " +
		"beginning best better bin bind binding blocks bound bpo broken bug bugs built builtin cached callable caller cancel cast cert certificate chain chars " +
		"checked children chunk classes classmethod clean clone closed closing cmp codec codes collect collections color column comma comment comments " +
		"comparison compatible compfunc compiler complex compute concat condition conf configuration connect consider considered console constant constants " +
		"construct conversion copies core correctly corresponding counter cpu creates creating cur cwd darwin declare decoder decoding defines definition " +
		"definitions delay deleted dependencies dependency depending deprecation depth derived desc described descriptor dest destroy detect determine device " +
		"dictionary did didn diff difference digest digit digits direct dirname disabled display division docs document documentation doing domain dot drop dst " +
		"due dummy dump dup duplicate dynamic edge effect elements emit enc encoded encoder encodings endian ends endswith enter entire enumerate environ " +
		"environment eof equals equivalent errno events everything exact exactly exc executable exp expect expr expression ext extend extended extensions " +
		"external extract fallback family fast fatal fatalf feature fetch few fill finish fitness fixed flush follow followed forward foundation four frame " +
		"generator gets gid give globals going golang good governing groups had handled handles handling happen happens having head hello help hex high hold " +
		"hope however identical identity idle immediately implement implementations implements implicit imports included incorrect indent indicate indicates " +
		"indirect inexact inf initialize initialized inline inner inside inspect install installed instanceof instances intended iso issues istanbul iterable " +
		"iteration iterator kernel keyword kwargs label latin law leading leave legacy letter likely limitations limited links lists literal little llvm loaded " +
		"loads locale logger logging logic longer looking low mac machine macros made magic major makefile makes making manager matching maybe meaning mem " +
		"member merchantability merge messages meta metadata minimum minor misc mkdir mock modified much multi necessary neither nested net network newline " +
		"nodes normalize normally notice npmcli numbers numeric occurs ones operations operator opt orig origin ossl others outside pack packages pad padding " +
		"page pairs parsed parsing partial parts passing password patch pending pep perform performance permission permissions pid pip pipe place plain " +
		"platforms plus pointers points policy port positive possibly post prev prevent previously prior probably problem proc processing produce promise " +
		"properly properties proto prototype provides proxy published query queue raised rather readable reading really record recursive redistribute reduce " +
		"references reflect reg registry regular reject related relevant remaining remote repeat replaced report reports representation representing represents " +
		"req requested requests reserve resolved resource response rest resulting ret retry returning reverse round rules runs scope sec seconds security seek " +
		"seen sent sep separate separator seq settings setup sha shouldn show shutdown side sig signed similar sleep spaces spam specify sprintf star starting " +
		"statement std stdin stdint stdio step stored structures stuff subclass subject success suffix suite sum supplied supports swap symbols systems tab " +
		"tags takes tear tell temp template temporary terms thing things though thus timer timestamp title tls tmp tools trace traceback track trailing trigger " +
		"trim trying turn typing uid uintptr undef underlying unexpected unique unit unlink unshift unused updated upper uri users usually validate variables " +
		"various vendor verbose very view virtual walk warranty whitespace whole whose why width window won word words working world wrap wrapped wrapper " +
		"writable writes xff zip",
	// one file in 64
	"accepted addition allocate allocated alternative amd assertion assignment away background backwards basename bio blank builder care cli clock colon " +
		"converted copyfunc cpython crash dep desired destination elem email embedded enumerable eval execute execution expand fake finished flat freefunc " +
		"fully functools getitem git half hard hook hostname imported infinity instruction larger limits macro malloc maps marked members middle mismatch " +
		"native nor oid peer please prepare quote ranges reads recursion rule scheme scripts selector simply skm slices specifies started stringify subprocess " +
		"symlink taken therefore threads tokens transform treated tuples typically usr vector",
}

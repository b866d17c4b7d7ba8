// Writes src/tables/scan/letter-pairs.ts: how often letters follow each other in the languages that legacy encodings
// were made for. The words are those that ICU holds of each language (names of countries, languages, currencies, units,
// months), and some of our own where these have few letters beyond ASCII. Run it with `node scripts/letter-pairs.ts`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Languages by their tag, and words of our own: what tables hold that ICU does not. */
const languages: Record<string, string> = {
  en: 'café résumé naïve façade fiancée cliché Zoë',
  de: 'Straße Größe Höhe Länge Fläche Jährlich Stück Gebäude Bevölkerung Übersicht Änderung Öffnungszeiten München Köln Düsseldorf Nürnberg Würzburg Lübeck Tübingen Göttingen Müller Schäfer Schröder Krüger Böhm Größter Fußgänger Weiß Groß Schüler Behörde Gemüse Äpfel Öl Übung Grüße Brücke Mühle Bäcker Höfe Räume Gärten Kündigung Gebühren Beschäftigte Zuständig Verfügbar Außen Maßnahme Süd Südwest Österreich Zürich Universität für über während könnte müssen möglich täglich schließen Nähe Name Männer Käse Räder Jäger Wälder Städte Häuser Zähler während Gerät Fähre Präsident Sänger Lärm Kälte Bände Dämme Bäume Träume ähnlich nämlich Pläne Pfähle Täter Hälfte Wärme Lösung König Körper Möbel nördlich Höchst Völker Wörter Behörden öffentlich Förderung Röhre Störung Dörfer Töpfer Mörder größere Prüfung Führer Rückgang Schlüssel früh Hügel Küste Lüftung Münze fünf Bürger Bürgermeister Würfel Türkei Düngung Stütze Künstler Gründung Mündung Verfügung Vergütung Übernachtung Grünfläche Nutzfläche Küche Tür Flüsse Fuß Maß Spaß Gruß heiß Fleiß schließlich Preußen Meißen Gießen Großstadt draußen Stoß Gefäß',
  fr: 'département région année société éducation numéro téléphone qualité élève hôpital forêt Orléans Besançon Saint-Étienne Nîmes Évreux Châteauroux François Hélène Zoé déjà même très après être où naïf cœur œuvre sœur bœuf Noël maïs garçon français reçu leçon à là été début coût août île bâtiment théâtre intérêt contrôle mère père frère lumière première dernière préfecture marché médiathèque bibliothèque école collège lycée musée créé employés née décédé système problème modèle énergie électricité sécurité santé prénom catégorie période réseau bénéficiaire dépense',
  es: 'año niño señor España español Málaga Cádiz Córdoba León Almería Gómez Fernández Rodríguez Martínez López Pérez Sánchez Muñoz Núñez Ibáñez población educación número teléfono código descripción ubicación información público económica técnico país más también según día río línea energía policía categoría compañía pequeño baño mañana diseño cigüeña pingüino área último único índice dirección estación sección región administración gestión inversión árbol útil fútbol médico histórico',
  pt: 'população educação informação não são João São Paulo Conceição Gonçalves Magalhães Simões Guimarães Évora Bragança Setúbal Açores município região número código descrição endereço público saúde técnico área útil último índice açúcar preço serviço praça março três você português também até já órgão mãe pão coração irmã amanhã manhã ações nações regiões milhões avô avó família início período histórico água árvore ônibus câmara gestão expressão licença segurança',
  it: 'città è perché più però già così università qualità attività società comunità provincia località unità età libertà verità lunedì martedì mercoledì giovedì venerdì caffè tè né sé poiché benché finché virtù gioventù tribù lassù può farà sarà andrò finirò Niccolò Cantù Forlì metà novità quantità velocità capacità identità',
  ca: 'Catalunya població informació català València Lleó més també número telèfon àrea òrgan únic índex educació França plaça força açò Núria Martí Jordi Gràcia públic mòbil col·legi il·lusió intel·ligent aigües llengües països',
  nl: 'België Italië ruïne coördinatie financiële reünie geïnteresseerd patiënt cliënt één vóór café privé reëel oriëntatie Curaçao officiële categorieën zeeën ideeën knieën melkweg coöperatie',
  sv: 'Malmö Göteborg Örebro Västerås Linköping Norrköping Jönköping Umeå Gävle Borås Luleå Åre Älvsbyn Östersund län år är på för från både även också mångfald många någon själv större något större högskola företag löner kön ålder månad område åtgärd ökning ändring övrigt Sjöberg Åkesson Söderström Lindström Bergström Åström Hägg kött mjölk bröd väg gård björk fågel häst skåp tåg båt',
  da: 'København Århus Ålborg Sønderjylland Færøerne år på når først større områder måned børn køn løn høj gård øl æble ø å kærlighed hjælp læge økonomi ændring Østerbro Nørrebro Jørgensen Sørensen Østergaard Kjær Bjørn Søren Åse Næstved Køge Ringkøbing Hillerød Helsingør Tårnby Rødovre smør brød æg sø skov mælk gæld række være være også må får går står første næste værdi størrelse beløb indkøb',
  nb: 'Tromsø Ålesund Bodø Ås Sørlandet Møre Østfold Bærum Lørenskog Gjøvik Kongsvinger år på når først større område måned kjønn lønn høy gård øl eple ø å kjærlighet hjelp økonomi endring Jørgensen Sørensen Bjørn Åse Øyvind Håkon Bjørnstad Ødegård brød sjø ærlig være også må får går står første neste beløp størrelse skjønn språk fjøs tømmer fåre',
  is: 'Reykjavík Akureyri Hafnarfjörður Kópavogur Garðabær Ísafjörður Þór Guðrún Sigurður Jón Ágúst Æsir Ólafsvík Egilsstaðir þjóð það maður börn ár mánuður fjöldi íbúar sveitarfélag',
  fi: 'Jyväskylä Hämeenlinna Seinäjoki Järvenpää Mäntsälä Ylöjärvi Äänekoski Lappeenranta Hyvinkää määrä väestö päivä henkilö työ työttömyys syntynyt äänestys yhteensä pitäjä käyttö kylä metsä järvi mäki hyvä yö pöytä lähde sähkö öljy tämä tässä näin myös hän keskimäärin Mäkinen Hämäläinen Heikkilä Väisänen Pääkkönen Åbo Töölö tyttö pöllö käsi',
  et: 'Pärnu Võru Põlva Jõhvi Jõgeva Rõuge Sõrve küla mõis jõgi järv õpetaja õpilane töö öö üks üle ümber äri õun võti põld sõna kõik mõõt täht päev nädal öökull süda lõuna põhi lääs ida ühik hõivatud tõend võimalus rõõm žürii šokolaad Šveits Mägi Tõnu Ülle Õnne Jüri Käärt rahvastik määr',
  pl: 'Łódź Kraków Gdańsk Poznań Wrocław Białystok Częstochowa Toruń Rzeszów Gliwice Zabrze Bydgoszcz Śląsk Świdnica Żary Wałbrzych Jarosław Małgorzata Paweł Łukasz Michał Grażyna Elżbieta Błażej Wójcik Kamiński Lewandowski Zieliński Szymański Woźniak Dąbrowski Kozłowski Jabłoński Król Majewski Pawłowska województwo liczba ludności mieszkańców powierzchnia szkoła źródło miesiąc rok ilość wartość ogółem płeć mężczyźni kobiety dzień tydzień środa piątek książka żółty różny część wieś gmina osób osoby są się że już też możliwość działalność ubezpieczeń środków urząd będą będzie ćwiczenie',
  cs: 'Plzeň Brno Olomouc České Budějovice Ústí Hradec Králové Pardubice Liberec Zlín Jihlava Děčín Třebíč Chomutov Přerov Mladá Boleslav Prostějov Kroměříž Vsetín Šumperk Uherské Hradiště Břeclav Žďár Nový Jičín Příbram Dvořák Novák Svoboda Novotný Černý Procházka Kučera Veselý Horák Němec Marek Pospíšil Jiří Tomáš Lukáš Kateřina Růžena Zdeněk Božena Věra Šárka počet obyvatel okres kraj ulice číslo množství název rok měsíc týden den středa čtvrtek pátek neděle příjmení jméno dům škola město obec výměra území zařízení veřejný správa příspěvek částka dodavatel předmět účel žádost kůň řeka loď síť zeď píseň báseň třešeň',
  sk: 'Košice Prešov Nitra Žilina Banská Bystrica Trenčín Poprad Prievidza Zvolen Považská Michalovce Spišská Nová Ves Komárno Levice Humenné Bardejov Liptovský Mikuláš Ružomberok Piešťany Ľubotice Topoľčany Dubnica Čadca Rimavská Partizánske Hlohovec Šaľa Kováč Horváth Nagy Balážová Ľudmila Ľuboš Jozef Mária Tomáš počet obyvateľov kraj okres názov číslo rok mesiac týždeň streda štvrtok nedeľa škola obec územie zariadenie výška dĺžka stĺp vŕba tŕň kôň stôl nôž päť mäso žena príspevok dodávateľ účel',
  hu: 'Győr Pécs Szeged Debrecen Székesfehérvár Kecskemét Nyíregyháza Szombathely Békéscsaba Érd Tatabánya Hódmezővásárhely Dunaújváros Cegléd Salgótarján Nagykőrös Zalaegerszeg Kőszeg Gödöllő Gyöngyös Vörösmarty Petőfi Szabó Tóth Kovács Horváth Varga Kiss Molnár Németh Farkas Balogh Papp Takács Juhász Mészáros Erzsébet László István Zoltán Gábor Jánosné Ágnes Éva Ödön Ünige megye település lakosság száma összesen érték év hónap hétfő szerda csütörtök péntek idő erdő mező tető nő férfi új út ügy őr űr őszi fűszer gyűjtés működés szervező gyártó első később több föld közlekedés gyűrű hűség tűz',
  ro: 'București Iași Constanța Brașov Galați Ploiești Brăila Bacău Târgu Mureș Timișoara Botoșani Satu Mare Râmnicu Vâlcea Suceava Piatra Neamț Drobeta Focșani Bistrița Reșița Călărași Slatina Țara Șerban județ oraș comună populație număr învățământ sănătate și în să că după către până fără între înființare mâine pâine câine română țară preț ședință Ștefan Țepeș Gheorghiță Ionuț Mădălina Bucureşti Iaşi Constanţa Braşov Galaţi Ploieşti Timişoara Botoşani Focşani Reşiţa Ţara Şerban judeţ oraş populaţie învăţământ sănătate şi ţară preţ Ştefan aşa',
  hr: 'Šibenik Čakovec Varaždin Požega Đakovo Vukovar Križevci Županja Sveti Ivan Međimurje Primošten Poreč Opatija Kaštela Makarska općina županija grad naselje broj stanovnika godina mjesec površina škola učenik naziv šifra opis vrijednost ukupno ožujak travanj lipanj srpanj četvrtak srijeda Horvat Kovačević Babić Marić Jurić Novak Knežević Vuković Marković Petrović Matić Tomić Pavlović Božić Blažević Grgić Perić Šarić Đurđica Željko Živko Ljubičić može još će što riječ kuća noć',
  sl: 'Ljubljana Maribor Celje Kranj Velenje Škofja Loka Žalec Črnomelj Kočevje Postojna Izola Žiri Tržič Domžale Trbovlje Krško Brežice Ormož Ljutomer občina število prebivalcev leto mesec površina šola učenec naziv šifra vrednost vpišite želja življenje človek čas cesta še že če več hiša noč Novak Kovačič Žagar Zupančič Hočevar Turšič Božič Mlinarič Škerlj Čeh',
  tr: 'İstanbul İzmir Diyarbakır Şanlıurfa Kahramanmaraş Eskişehir Balıkesir Muğla Aydın Kırıkkale Çanakkale Çorum Iğdır Ağrı Uşak Nevşehir Niğde Elazığ Gümüşhane Karabük Kırşehir Tekirdağ Zonguldak Bingöl Muş Şırnak Beyoğlu Beşiktaş Kadıköy Üsküdar Şişli nüfus ilçe mahalle yıl ay gün sayı sayısı değer kişi öğrenci öğretmen okul müdürlüğü bakanlığı işlem açıklama tarih ücret güneş çalışma başkanlığı kuruluş Yılmaz Öztürk Çelik Şahin Yıldız Aydın Özdemir Doğan Kılıç Çetin Koç Kurt Özkan Şimşek Ayşe Gülşen Hüseyin İbrahim Oğuz Çağlar Ümit iş için değil ağaç dağ',
  lt: 'Vilnius Klaipėda Šiauliai Panevėžys Mažeikiai Jonava Utena Kėdainiai Telšiai Tauragė Ukmergė Visaginas Plungė Kretinga Šilutė Radviliškis Palanga Gargždai Druskininkai Rokiškis Biržai Elektrėnai Anykščiai savivaldybė gyventojų skaičius metai mėnuo plotas mokykla pavadinimas vertė žmonės šeima čia ąžuolas įmonė ūkis šiųmetė Kazlauskas Jankauskas Petrauskas Žukauskas Butkus Paulauskienė Šimkutė Stankevičius Žilinskas įvykis iš už bei dėl apie kraštas žemė',
  lv: 'Rīga Daugavpils Liepāja Jelgava Jūrmala Ventspils Rēzekne Valmiera Jēkabpils Ogre Tukums Cēsis Salaspils Kuldīga Sigulda Olaine Krāslava Līvāni Madona Aizkraukle Ķegums Ņujorka Ģertrūde Čaks Šķēde Žagars novads pilsēta iedzīvotāju skaits gads mēnesis platība skola nosaukums vērtība cilvēki ģimene māja ceļš koks ūdens zeme Bērziņš Kalniņš Ozoliņš Jansons Liepiņš Krūmiņš Zariņš Pētersons Āboliņš Ēriks Jānis Šķiņķis valsts pārvalde kopā vīrieši sievietes',
  sq: 'Tiranë Durrës Vlorë Shkodër Korçë Gjirokastër Lezhë Kukës Krujë popullsia numri emri bashkia qarku është në për një vjeç çdo që ditë muaj fëmijë shkollë çmimi',
  vi: 'Hà Nội Đà Nẵng Hải Phòng Cần Thơ Huế Nguyễn Trần Lê Phạm Hoàng Phan Vũ Đặng Bùi Đỗ Hồ Ngô Dương Lý số lượng năm tháng ngày tỉnh huyện xã dân số diện tích tên trường học người',
  eo: '',
  mt: '',
  cy: '',
  ga: '',
  az: '',
  el: 'Αθήνα Θεσσαλονίκη Πάτρα Ηράκλειο Λάρισα Βόλος Ιωάννινα Χανιά Χαλκίδα Ρόδος Καβάλα Σέρρες Καλαμάτα Δήμος Νομός Περιφέρεια πληθυσμός αριθμός όνομα επώνυμο διεύθυνση έτος μήνας ημερομηνία σύνολο τιμή σχολείο υπηρεσία Παπαδόπουλος Γεωργίου Νικολάου Δημητρίου Ιωάννης Μαρία Κωνσταντίνος Ελένη και για από στην των',
  ru: 'Москва Санкт-Петербург Новосибирск Екатеринбург Казань Нижний Новгород Челябинск Самара Омск Ростов Уфа Красноярск Пермь Воронеж Волгоград область район город село улица население численность год месяц количество название значение всего школа дата Иванов Смирнов Кузнецов Попов Васильев Петров Соколов Михайлов Новиков Фёдоров Морозов Волков Алексеев Лебедев Наталья Сергей Дмитрий Елена Ольга Татьяна и на по для что не',
  uk: 'Київ Харків Одеса Дніпро Донецьк Запоріжжя Львів Кривий Ріг Миколаїв Маріуполь Вінниця Херсон Полтава Чернігів Черкаси Житомир Суми Хмельницький область район місто село вулиця населення чисельність рік місяць кількість назва значення всього школа дата Шевченко Коваленко Бондаренко Ткаченко Кравченко Олійник Шевчук Ковальчук Поліщук Наталія Сергій Дмитро Олена Ольга Ґалаґан та на по для що не її їх',
  bg: 'София Пловдив Варна Бургас Русе Стара Загора Плевен Сливен Добрич Шумен Перник Хасково Ямбол Пазарджик Благоевград Велико Търново Враца Габрово Видин област община град село улица население брой година месец стойност наименование училище общо дата Иванов Георгиев Димитров Петров Николов Стоянов Христов Тодоров Илиев Ангелов Мария Елена и на за от че не със',
  sr: 'Београд Нови Сад Ниш Крагујевац Суботица Зрењанин Панчево Чачак Краљево Нови Пазар Смедерево Лесковац Ужице Ваљево Крушевац Врање Шабац општина округ насеље број становника година месец површина школа назив вредност укупно Јовановић Петровић Николић Марковић Ђорђевић Стојановић Илић и на за од је',
  mk: '',
  be: '',
  kk: '',
  he: 'ירושלים תל אביב חיפה ראשון לציון פתח תקווה אשדוד נתניה באר שבע בני ברק חולון רמת גן אשקלון רחובות בת ים הרצליה כפר סבא מספר שם כתובת שנה חודש תאריך סך הכל אוכלוסייה בית ספר עיר רחוב מחוז ערך כהן לוי מזרחי פרץ ביטון דהן אברהם פרידמן של על את לא',
  ar: 'القاهرة الإسكندرية الرياض جدة مكة المدينة الدمام بغداد البصرة دمشق حلب بيروت عمان الدوحة أبوظبي دبي الكويت المنامة مسقط صنعاء الخرطوم طرابلس تونس الجزائر الرباط الدار البيضاء عدد السكان السنة الشهر الاسم العنوان المحافظة المدينة المدرسة القيمة المجموع التاريخ محمد أحمد علي حسن فاطمة من في على إلى',
  fa: '',
  th: 'กรุงเทพมหานคร เชียงใหม่ เชียงราย นครราชสีมา ขอนแก่น อุดรธานี ภูเก็ต ชลบุรี สงขลา จังหวัด อำเภอ ตำบล ประชากร จำนวน ปี เดือน วันที่ ชื่อ โรงเรียน รวม มูลค่า',
  ja: '東京都 大阪府 京都府 北海道 神奈川県 愛知県 福岡県 埼玉県 千葉県 兵庫県 静岡県 広島県 宮城県 新潟県 長野県 市区町村 人口 世帯数 面積 年 月 日 件数 合計 名称 住所 電話番号 学校 施設 男 女 番号 データ コード 区分 備考 です ます する した から まで など および について 山田 佐藤 鈴木 高橋 田中 渡辺 伊藤 中村 小林 加藤',
  'zh-Hans':
    '北京 上海 天津 重庆 广东 江苏 浙江 山东 河南 四川 湖北 湖南 河北 福建 安徽 辽宁 陕西 江西 广西 云南 黑龙江 省 市 县 区 镇 乡 村 人口 面积 年份 月 日 数量 名称 地址 电话 学校 合计 单位 编号 备注 男 女 的 是 在 有 和 了 不 为 中 大 国 人 这 上 个 地 到 说 王 李 张 刘 陈 杨 赵 黄 周 吴',
  'zh-Hant':
    '臺北 臺中 高雄 臺南 新竹 桃園 基隆 嘉義 屏東 花蓮 宜蘭 縣 市 區 鄉 鎮 村 里 人口 面積 年度 月 日 數量 名稱 地址 電話 學校 合計 單位 編號 備註 男 女 的 是 在 有 和 了 不 為 中 大 國 人 這 上 個 地 到 說 王 李 張 劉 陳 楊 趙 黃 周 吳',
  ko: '서울특별시 부산광역시 대구광역시 인천광역시 광주광역시 대전광역시 울산광역시 경기도 강원도 충청북도 충청남도 전라북도 전라남도 경상북도 경상남도 제주특별자치도 시군구 읍면동 인구 세대수 면적 연도 월 일 건수 합계 명칭 주소 전화번호 학교 시설 남 여 번호 구분 비고 이름 김 이 박 최 정 강 조 윤 장 임',
};

const codes = (type: 'region' | 'language'): string[] => {
  const letters = type === 'region' ? 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' : 'abcdefghijklmnopqrstuvwxyz';
  const english = new Intl.DisplayNames('en', { type, fallback: 'none' });
  return [...letters].flatMap((a) => [...letters].map((b) => a + b)).filter((code) => english.of(code) !== undefined);
};

const named: [Intl.DisplayNamesType, string[]][] = [
  ['region', codes('region')],
  ['language', codes('language')],
  ['currency', Intl.supportedValuesOf('currency')],
];

/** All distinct words of a language, in small letters. */
const wordsOf = (tag: string, own: string): Set<string> => {
  const texts = [own];
  for (const [type, list] of named) {
    const names = new Intl.DisplayNames(tag, { type, fallback: 'none' });
    for (const code of list) texts.push(names.of(code) ?? '');
  }
  for (const unit of Intl.supportedValuesOf('unit'))
    texts.push(new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(5));
  for (let month = 0; month < 12; month++)
    texts.push(new Date(Date.UTC(2026, month, month + 1)).toLocaleDateString(tag, { month: 'long', weekday: 'long' }));
  return new Set(
    texts
      .join(' ')
      .toLocaleLowerCase(tag)
      .normalize('NFC')
      .match(/[\p{L}\p{M}]+/gu),
  );
};

/** Scripts that are written without spaces or by syllables: their letters are counted one by one. */
const byLetter = new Set(['ja', 'zh-Hans', 'zh-Hant', 'ko']);

const count = (counts: Map<string, number>, key: string, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by);
};

/** Words of our own count as much as this many of ICU's. */
const ownWeight = 2;

const tableOf = (tag: string, own: string): string => {
  const ownWords = new Set(own.toLocaleLowerCase(tag).split(/[\s-]+/u));
  const counts = new Map<string, number>();
  for (const word of wordsOf(tag, own)) {
    const letters = byLetter.has(tag) ? [...word] : [' ', ...word, ' '];
    const weight = ownWords.has(word) ? ownWeight : 1;
    letters.forEach((letter, at) => {
      if (byLetter.has(tag)) count(counts, letter, weight);
      else if (at > 0) count(counts, `${letters[at - 1]}${letter}`, weight);
    });
  }
  const groups = new Map<number, string[]>();
  for (const [key, number] of counts) {
    const size = Math.min(9, Math.floor(Math.log2(number)));
    groups.set(size, [...(groups.get(size) ?? []), key]);
  }
  const bySize = [...groups].sort(([a], [b]) => a - b);
  return bySize.map(([size, keys]) => `${size}${keys.sort().join('')}`).join('');
};

const lines = Object.entries(languages).map(
  ([tag, own]) => `  ${JSON.stringify(tag)}: ${JSON.stringify(tableOf(tag, own))},`,
);
const text = `// Made by \`node scripts/letter-pairs.ts\`: how often two letters follow each other in the words of a language.

/**
 * By language: digits, each followed by the pairs of letters that stand 2^digit times and more in its words; a space is
 * the border of a word. Of Chinese, Japanese and Korean single characters instead of pairs.
 */
export const letterPairs: Record<string, string> = {
${lines.join('\n')}
};
`;
writeFileSync(join(import.meta.dirname, '../src/tables/scan/letter-pairs.ts'), text);

// Rows of tables in many languages, of our own making: what the encodings that are reported by evidence are tried on.

/** By language: lines of cells. */
export const languageTexts: Record<string, string> = {
  German: `Nr;Straße;Ort;Fläche in m²
1;Händelstraße 4;Köln-Mülheim;120
2;Am Flößergraben;Gräfelfing;88
3;Böttchergasse;Übach-Palenberg;301
4;Hüttenplatz;Schwäbisch Gmünd;45
5;Äußere Nürnberger Straße;Fürth;77`,
  French: `No;Commune;Département;Intitulé
1;Saint-Étienne-du-Grès;Bouches-du-Rhône;Réfection de la chaussée
2;Châtellerault;Vienne;École élémentaire
3;Vélizy;Île-de-France;Médiathèque à rénover
4;Alès;Gard;Crèche des Tilleuls
5;Thiérache;Aisne;Forêt protégée, été compris`,
  Spanish: `Núm;Municipio;Descripción
1;Logroño;Gestión de residuos sólidos
2;Cáceres;Ampliación del área peatonal
3;Peñíscola;Señalización turística
4;Jaén;Música en los jardines, edición única
5;A Coruña;Año económico y difusión pública`,
  Portuguese: `Nº;Concelho;Descrição
1;Guimarães;Requalificação da praça
2;Évora;Manutenção de edifícios públicos
3;Portimão;Iluminação das ruas até às praias
4;Santarém;Ações de formação, três sessões
5;Loulé;Água e saneamento básico`,
  Swedish: `Nr;Kommun;Åtgärd
1;Härnösand;Översyn av gång- och cykelvägar
2;Skellefteå;Ny förskola vid älven
3;Nässjö;Åtgärder för sjöar och vattendrag
4;Kramfors;Snöröjning på landsväg
5;Mjölby;Höjd avgift för båtplatser`,
  Polish: `Lp;Miejscowość;Opis
1;Ząbkowice Śląskie;Remont świetlicy wiejskiej
2;Żywiec;Budowa ścieżki rowerowej
3;Krasnystaw;Usługi geodezyjne, część druga
4;Przemyśl;Wyposażenie żłobka miejskiego
5;Nowa Sól;Oświetlenie placu, źródła światła i okablowanie`,
  Czech: `Č.;Obec;Předmět
1;Žatec;Oprava střechy základní školy
2;Litoměřice;Výměna oken, část první
3;Říčany;Dodávka nábytku do kanceláří
4;Týn nad Vltavou;Úklid chodníků v zimním období
5;Havířov;Ošetření dřevin, čtyři lokality, síť a kůň`,
  Hungarian: `Sorszám;Település;Megnevezés
1;Hajdúböszörmény;Óvoda felújítása
2;Mosonmagyaróvár;Útépítés és járda
3;Kiskunfélegyháza;Közvilágítás korszerűsítése
4;Törökbálint;Szűrőállomás, első ütem
5;Győrújbarát;Vízelvezető árok és tető javítása`,
  Romanian: `Nr;Localitate;Denumire
1;Târgovişte;Reparaţii la şcoala gimnazială
2;Făgăraş;Lucrări de întreţinere a drumurilor
3;Câmpina;Achiziţie mobilier pentru grădiniţă
4;Alba Iulia;Servicii de pază şi curăţenie
5;Oneşti;Reţea de apă, faza întâi`,
  Turkish: `Sıra;İlçe;Açıklama
1;Beyoğlu;Yağmur suyu hattı yapım işi
2;Kâğıthane;Okul bahçesi düzenlemesi
3;Şile;Sahil temizliği ve çöp toplama
4;Göksun;Küçük ölçekli sulama, üçüncü aşama
5;Iğdır;Işıklı tabela alımı, İmar Müdürlüğü`,
  Greek: `Α/Α;Δήμος;Περιγραφή
1;Τρίκαλα;Συντήρηση σχολικών κτιρίων
2;Ξάνθη;Προμήθεια φωτιστικών σωμάτων
3;Άργος;Ανάπλαση κεντρικής πλατείας
4;Μύρινα;Έργα ύδρευσης και αποχέτευσης
5;Ζάκυνθος;Καθαρισμός ακτών, δεύτερη φάση`,
  Russian: `№;Населённый пункт;Описание
1;Верхняя Салда;Ремонт кровли детского сада
2;Елец;Поставка школьной мебели
3;Щёлково;Уборка снега с тротуаров
4;Южноуральск;Озеленение парка, первый этап
5;Чусовой;Услуги по вывозу мусора`,
  Ukrainian: `№;Громада;Опис
1;Бердичів;Ремонт покрівлі дитячого садка
2;Їздівка;Придбання шкільних меблів
3;Щирець;Прибирання снігу з тротуарів
4;Яремче;Озеленення парку, перший етап
5;Кременець;Послуги з вивезення сміття`,
  Hebrew: `מס;יישוב;תיאור
1;קריית שמונה;שיפוץ גן ילדים
2;זכרון יעקב;רכישת ריהוט לכיתות
3;מודיעין;ניקוי מדרכות וכבישים
4;טבריה;גינון הפארק העירוני
5;צפת;פינוי פסולת בניין`,
  Arabic: `رقم;البلدية;الوصف
1;إربد;صيانة سقف روضة الأطفال
2;الزرقاء;شراء أثاث مدرسي
3;صيدا;تنظيف الأرصفة والشوارع
4;طنجة;تشجير الحديقة العامة
5;الموصل;خدمات نقل النفايات`,
  Lithuanian: `Nr;Vietovė;Aprašymas
1;Šakiai;Mokyklos stogo remontas
2;Zarasai;Vaikų žaidimų aikštelės įrengimas
3;Naujoji Akmenė;Šaligatvių valymas žiemą
4;Ignalina;Medžių genėjimas, ąžuolų apsauga
5;Širvintos;Gatvių apšvietimas už miesto ribų`,
  Japanese: `番号,市町村,内容
1,盛岡市,小学校の屋根を修理する工事
2,松江市,図書館の本棚の購入
3,高知市,道路の清掃と除雪
4,那覇市,公園に木を植える作業
5,つくば市,ごみの収集サービス`,
  Chinese: `序号,地区,内容
1,苏州市,小学校屋顶维修工程
2,西安市,图书馆书架采购项目
3,成都市,道路清扫和积雪处理
4,昆明市,公园植树及绿化工作
5,大连市,生活垃圾收集服务`,
  Korean: `번호,지역,내용
1,춘천시,초등학교 지붕 수리 공사
2,목포시,도서관 책장 구입
3,안동시,도로 청소와 눈 치우기
4,여수시,공원에 나무 심기
5,파주시,생활 쓰레기 수거 서비스`,
  Icelandic: `Nr;Staður;Lýsing
1;Húsavík;Viðgerð á þaki grunnskóla
2;Borgarnes;Kaup á húsgögnum fyrir leikskóla
3;Þorlákshöfn;Snjómokstur á gangstéttum
4;Blönduós;Gróðursetning trjáa í garðinum
5;Ýdalir;Sorphirða og þjónusta, æðsta stig`,
};
